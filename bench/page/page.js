// Shows the page's JSON. Plots are Chart.js's; labels stand at the ends of their curves. What was
// drawn is in window.plots, for tests.
'use strict';
(() => {
const page = JSON.parse(document.getElementById('data').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)');
const narrow = 640;  // pixels of a plot; below, long names stand in a key under it
const rowHeight = 18;  // of a label
const shapes = ['circle', 'triangle', 'rect', 'rectRot', 'star', 'crossRot'];
window.plots = [];

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function styled(made, styles) {
  Object.assign(made.style, styles);
  return made;
}

// Numbers: 950, 1.5 k, 20 M; bytes in powers of two.
function scaled(value, step, units) {
  let unit = 0;
  for (; Math.abs(value) >= 0.9995 * step && unit + 1 < units.length; ++unit) value /= step;
  return `${Number(value.toPrecision(3))}${units[unit]}`;
}
const compact = (value) => scaled(value, 1000, ['', ' k', ' M', ' G', ' T']);
const compactBytes = (value) => scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
// An axis of nines is a log axis of 1 / (1 - part).
const percent = (value) => `${Number((100 * (1 - 1 / value)).toPrecision(8))}%`;
const namer = (axis) =>
  axis.scale === 'nines' ? percent : axis.unit === 'bytes' ? compactBytes : compact;

// The colours of series. Plov's are one strong colour where peers are beside it, and theirs muted.
function colorsOf(curves) {
  const all = dark.matches
    ? ['#56b4e9', '#e69f00', '#1fc497', '#f07f2e', '#d98bb7', '#f0e442', '#e9e9e6']
    : ['#0072b2', '#d55e00', '#009e73', '#b8699a', '#a87400', '#3a9bd3', '#1b1c1f'];
  const muted = dark.matches
    ? ['#b0955a', '#6fa08c', '#b07f9f', '#8a8f98', '#c2806a', '#7f8fc0']
    : ['#b8984f', '#6fa08c', '#bd8aab', '#8d929b', '#cc8f77', '#8b98c4'];
  const beside = curves.some((curve) => curve.ours) && curves.some((curve) => !curve.ours);
  let ours = 0;
  let peers = 0;
  return curves.map((curve, i) => {
    if (!beside) return {color: all[i % all.length], dash: i < all.length ? [] : [6, 3], width: 2.5};
    if (curve.ours) return {color: all[0], dash: ours++ ? [7, 4] : [], width: 3.5};
    return {color: muted[peers++ % muted.length], dash: [], width: 2};
  });
}

function ticksOf(axis, least, most) {
  const base = axis.unit === 'bytes' ? 2 : 10;
  const first = Math.ceil(Math.log(least) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(most) / Math.log(base) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / 10));
  const ticks = [];
  for (let power = first - 1; power <= last; power += stride) {
    const fine = base === 10 && last - first < 2 && axis.scale === 'log' ? [1, 2, 5] : [1];
    for (const times of fine) ticks.push(times * base ** power);
  }
  return ticks.filter((tick) => tick >= least * 0.999 && tick <= most * 1.001);
}

// The next 1, 2 or 5 times a power of ten, downwards or upwards.
function round(value, up) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const steps = [1, 2, 5, 10].map((step) => step * power);
  return up ? steps.find((step) => step >= value * 0.999)
    : steps.reverse().find((step) => step <= value * 1.001);
}

function scaleOf(axis, values, isX) {
  const rootStyle = getComputedStyle(document.documentElement);
  const soft = rootStyle.getPropertyValue('--soft').trim();
  const line = rootStyle.getPropertyValue('--line').trim();
  const name = namer(axis);
  const options = {
    type: axis.scale === 'linear' ? 'linear' : 'logarithmic',
    title: {display: isX, text: axis.label, color: soft},
    grid: {color: line, borderColor: line, drawTicks: false, display: !isX},
    ticks: {color: soft, padding: 8, maxRotation: 0, callback: (value) => name(value),
      autoSkipPadding: 12},
  };
  const least = Math.min(...values);
  const most = Math.max(...values);
  if (axis.scale === 'linear') {
    if (values.every(Number.isInteger)) options.ticks.precision = 0;
    return {...options, beginAtZero: !isX || least < most / 2, grace: isX ? 0 : '5%'};
  }
  const whole = isX && axis.scale === 'log';
  options.min = axis.scale === 'nines' ? 1 : whole && least < most ? least : round(least, false);
  options.max = axis.scale === 'nines' || (whole && least < most) ? most : round(most, true);
  if (options.min === options.max) options.max *= 10;
  options.afterBuildTicks = (scale) => {
    scale.ticks = ticksOf(axis, options.min, options.max).map((value) => ({value}));
  };
  return options;
}

// Where the labels stand: beside the last points, but not upon each other.
function spread(labels, top, bottom) {
  labels.sort((a, b) => a.from.y - b.from.y);
  let free = top;
  for (const label of labels) {
    label.y = Math.max(label.from.y, free);
    free = label.y + rowHeight;
  }
  let limit = bottom;
  for (const label of labels.toReversed()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - rowHeight;
  }
}

const endLabels = {
  id: 'endLabels',
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area} = chart;
    const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
    const labels = [];
    for (const [i, dataset] of chart.data.datasets.entries()) {
      const last = chart.getDatasetMeta(i).data.at(-1);
      if (!dataset.label || dataset.isBeyond || !last) continue;
      const text = chart.isShort ? String(i + 1) : dataset.label;
      labels.push({text, from: last, dataset, x: area.right + 18});
    }
    spread(labels, area.top + 4, area.bottom);
    ctx.save();
    ctx.textBaseline = 'middle';
    for (const label of labels) {
      ctx.strokeStyle = label.dataset.borderColor;
      ctx.lineWidth = 1;
      ctx.setLineDash([1, 3]);
      ctx.beginPath();
      ctx.moveTo(label.from.x, label.from.y);
      if (label.from.x < area.right) ctx.lineTo(area.right, label.from.y);
      ctx.lineTo(label.x - 4, label.y);
      ctx.stroke();
      ctx.fillStyle = ink;
      ctx.font = fontOf(label.dataset.isOurs);
      ctx.fillText(label.text, label.x, label.y);
      const width = ctx.measureText(label.text).width;
      label.box = {left: label.x, right: label.x + width, top: label.y - 7, bottom: label.y + 7};
    }
    ctx.restore();
    chart.labels = labels.map(({text, box}) => ({text, box}));
  },
};

const fontOf = (isOurs) => `${isOurs ? 650 : 400} 13px system-ui, sans-serif`;

function widestOf(curves) {
  const context = document.createElement('canvas').getContext('2d');
  return Math.max(0, ...curves.map((curve) => {
    context.font = fontOf(curve.ours);
    return context.measureText(curve.name).width;
  }));
}

function datasetsOf(plot) {
  const toX = plot.x.scale === 'nines' ? (x) => 1 / (1 - x) : (x) => x;
  const place = (points) => points.map(({x, y}) => ({x: toX(x), y}));
  const looks = colorsOf(plot.curves);
  const curves = plot.curves.map((curve, i) => ({
    label: curve.name, data: place(curve.points), isOurs: curve.ours, showLine: true,
    borderColor: looks[i].color, backgroundColor: looks[i].color, borderDash: looks[i].dash,
    borderWidth: looks[i].width, pointStyle: shapes[i % shapes.length],
    pointRadius: curve.points.length > 40 ? 0 : curve.ours ? 4 : 3.5, pointHoverRadius: 6,
    order: curve.ours ? 0 : 1,
  }));
  const beyond = plot.curves.flatMap((curve, i) => curve.beyond.length === 0 ? [] : [{
    label: curve.name, data: place(curve.beyond), isBeyond: true, showLine: false,
    borderColor: looks[i].color, backgroundColor: 'transparent', borderWidth: 2, pointRadius: 5,
    pointStyle: shapes[i % shapes.length],
  }]);
  return [...curves, ...beyond];
}

function keyOf(plot) {
  const looks = colorsOf(plot.curves);
  return plot.curves.map((curve, i) => element('li', curve.ours ? 'ours' : '',
    styled(element('i'), {background: looks[i].color}), `${i + 1} ${curve.name}`));
}

function optionsOf(plot, datasets, key) {
  const points = datasets.flatMap((dataset) => dataset.data);
  const [nameX, nameY] = [namer(plot.x), namer(plot.y)];
  const tip = ({dataset, raw}) => `${dataset.label ? `${dataset.label}: ` : ''}` +
    `${nameX(raw.x)} ${plot.x.label}, ${nameY(raw.y)} ${plot.y.label}`;
  return {
    animation: false, responsive: true, maintainAspectRatio: false,
    layout: {padding: {right: 0}},
    interaction: {mode: 'nearest', intersect: false},
    plugins: {legend: {display: false}, tooltip: {callbacks: {label: tip, title: () => ''}}},
    scales: {
      x: scaleOf(plot.x, points.map((point) => point.x), true),
      y: scaleOf(plot.y, points.map((point) => point.y), false),
    },
    onResize: (chart, {width}) => leaveRoom(chart, plot, width, key),
  };
}

// To the right, for the labels; where that is too much, numbers stand there, and a key tells.
function leaveRoom(chart, plot, width, key) {
  const widest = widestOf(plot.curves);
  chart.isShort = width < narrow && widest > 0.25 * width;
  chart.options.layout.padding.right = widest === 0 ? 16 : chart.isShort ? 36 : widest + 24;
  key.replaceChildren(...(chart.isShort ? keyOf(plot) : []));
}

function showPlot(plot) {
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', plot.title);
  const height = Math.max(innerWidth < narrow ? 330 : 430, plot.curves.length * rowHeight + 80);
  const key = element('ul', 'key');
  const logs = plot.y.scale === 'log' ? ', log axis' : '';
  const beyond = plot.curves.some((curve) => curve.beyond.length > 0)
    ? '; hollow: more was asked for, and less achieved' : '';
  main.append(element('figure', '',
    element('figcaption', '', plot.title,
      element('small', '', `${plot.y.label}${logs}${beyond}`)),
    styled(element('div', 'plot', canvas), {height: `${height}px`}), key));
  const datasets = datasetsOf(plot);
  const chart = new Chart(canvas, {
    type: 'scatter', data: {datasets}, options: optionsOf(plot, datasets, key), plugins: [endLabels],
  });
  leaveRoom(chart, plot, chart.width, key);
  chart.update();
  window.plots.push(chart);
}

function barsOf(group, target) {
  const most = Math.max(...group.bars.map((bar) => bar.value ?? 0), target ?? 0, 1e-9);
  const part = (value) => `${100 * (value ?? 0) / most}%`;
  return group.bars.flatMap((bar) => {
    const space = element('div', '', styled(element('i'), {width: part(bar.value)}));
    if (target !== null) space.append(styled(element('u'), {left: part(target)}));
    space.append(styled(element('span', '', bar.value === null ? '–' : compact(bar.value)),
      {left: part(bar.value)}));
    const look = (bar.ours ? ' ours' : '') + (bar.value < target ? ' missed' : '');
    return [element('div', look, bar.name), element('div', 'bar' + look, space)];
  });
}

function showChart(chart) {
  const box = element('div', 'bars');
  for (const group of chart.groups) {
    if (group.name) box.append(element('h3', '', group.name));
    box.append(...barsOf(group, chart.target));
  }
  const groups = chart.groups.length > 1 ? ', each group to a scale of its own' : '';
  main.append(element('figure', '',
    element('figcaption', '', chart.title, element('small', '', chart.unit + groups)), box));
}

function cellOf(text, column) {
  const cell = element('td', column.startsWith('<') ? 'left' : '');
  const good = /^(reached|holds)\b/.test(text);
  if (!good && !/^(missed|DOES NOT HOLD)\b/i.test(text)) cell.append(text);
  else cell.append(element('span', good ? 'good' : 'bad', text));
  return cell;
}

function showTable(table) {
  const head = table.columns.map((column) =>
    element('th', column.startsWith('<') ? 'left' : '', column.replace(/^</, '')));
  const rows = table.rows.map((row) => element('tr', '',
    ...table.columns.map((column, i) => cellOf(row[i] ?? '', column))));
  const box = element('div', 'table');
  if (table.title) box.append(element('b', '', table.title));
  const scroll = element('div', 'scroll', element('table', '',
    element('thead', '', element('tr', '', ...head)), element('tbody', '', ...rows)));
  scroll.tabIndex = 0;
  box.append(scroll);
  main.append(box);
}

function listOf(className, facts) {
  return element('dl', className, ...Object.entries(facts).map(([name, value]) =>
    className === 'facts' ? [element('dt', '', name), element('dd', '', value)]
      : [element('div', '', element('dt', '', name), element('dd', '', value))]).flat());
}

const show = {
  text: (part) => main.append(element('p', '', part.text)),
  table: showTable, chart: showChart, plot: showPlot,
};

let main = document.querySelector('main');
function showAll() {
  for (const plot of window.plots.splice(0)) plot.destroy();
  Chart.defaults.font.family = 'system-ui, sans-serif';
  Chart.defaults.font.size = 13;
  main.replaceChildren(element('h1', '', page.title));
  if (page.headline) main.append(element('div', 'headline', page.headline.replaceAll('-', '\u2011')));
  if (Object.keys(page.figures).length) main.append(listOf('figures', page.figures));
  for (const part of page.parts) show[part.kind](part);
  main.append(element('section', '', element('h2', '', 'What was run, and where'),
    listOf('facts', page.facts)));
}
showAll();
dark.addEventListener('change', showAll);
})();
