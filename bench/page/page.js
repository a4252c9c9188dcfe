// Shows the page's JSON; plots are Chart.js's. What was drawn is in window.plots, for tests.
'use strict';
(() => {
const page = JSON.parse(document.getElementById('data').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)');
const shapes = ['circle', 'triangle', 'rect', 'rectRot', 'star', 'crossRot'];
window.plots = [];

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
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

// The colours of curves. Plov's are one strong colour where peers are beside it, and theirs muted.
function looksOf(curves) {
  const all = dark.matches
    ? ['#56b4e9', '#e69f00', '#1fc497', '#f07f2e', '#d98bb7', '#f0e442', '#e9e9e6']
    : ['#0072b2', '#d55e00', '#009e73', '#b8699a', '#a87400', '#3a9bd3', '#1b1c1f'];
  const muted = dark.matches
    ? ['#b0955a', '#6fa08c', '#b07f9f', '#8a8f98', '#c2806a', '#7f8fc0']
    : ['#b8984f', '#6fa08c', '#bd8aab', '#8d929b', '#cc8f77', '#8b98c4'];
  const isOurs = (curve) => curve.name.startsWith('plov');
  const beside = curves.some(isOurs) && !curves.every(isOurs);
  let ours = 0;
  let peers = 0;
  return curves.map((curve, i) => {
    if (!beside) return {color: all[i % all.length], dash: i < all.length ? [] : [6, 3], width: 2.5};
    if (isOurs(curve)) return {color: all[0], dash: ours++ ? [7, 4] : [], width: 3.5};
    return {color: muted[peers++ % muted.length], dash: [], width: 2};
  });
}

function scaleOf(axis, values, isX) {
  const style = getComputedStyle(document.documentElement);
  const [soft, line] = ['--soft', '--line'].map((name) => style.getPropertyValue(name).trim());
  const name = namer(axis);
  const options = {
    type: axis.scale === 'linear' ? 'linear' : 'logarithmic',
    title: {display: isX, text: axis.label, color: soft},
    grid: {color: line, borderColor: line, drawTicks: false, display: !isX},
    ticks: {color: soft, padding: 8, maxRotation: 0, callback: name, autoSkipPadding: 12},
  };
  if (axis.scale === 'linear') {
    if (values.every(Number.isInteger)) options.ticks.precision = 0;
    const isWide = Math.min(...values) < Math.max(...values) / 2;
    return {...options, beginAtZero: !isX || isWide, grace: isX ? 0 : '5%'};
  }
  if (isX && axis.scale === 'log') {  // what was measured: sizes, numbers of items
    const places = [...new Set(values)].sort((a, b) => a - b);
    options.afterBuildTicks = (scale) => { scale.ticks = places.map((value) => ({value})); };
  } else {
    const digit = (value) => Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
    options.ticks.callback = (value) => [1, 2, 5].includes(digit(value)) ? name(value) : null;
  }
  return options;
}

function datasetsOf(plot) {
  const toX = plot.x.scale === 'nines' ? (x) => 1 / (1 - x) : (x) => x;
  const place = (points) => points.map(({x, y}) => ({x: toX(x), y}));
  const looks = looksOf(plot.curves);
  return plot.curves.flatMap((curve, i) => {
    const look = {label: curve.name, borderColor: looks[i].color,
      pointStyle: shapes[i % shapes.length], pointHoverRadius: 6};
    const drawn = {...look, data: place(curve.points), showLine: true, borderWidth: looks[i].width,
      backgroundColor: looks[i].color, borderDash: looks[i].dash,
      pointRadius: curve.points.length > 40 ? 0 : 4};
    const beyond = {...look, data: place(curve.beyond), isBeyond: true, showLine: false,
      backgroundColor: 'transparent', borderWidth: 2, pointRadius: 5};
    return curve.beyond.length > 0 ? [drawn, beyond] : [drawn];
  });
}

function optionsOf(plot, datasets) {
  const points = datasets.flatMap((dataset) => dataset.data);
  const [nameX, nameY] = [namer(plot.x), namer(plot.y)];
  const tip = ({dataset, raw}) => `${dataset.label ? `${dataset.label}: ` : ''}` +
    `${nameX(raw.x)} ${plot.x.label}, ${nameY(raw.y)} ${plot.y.label}`;
  const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
  return {
    animation: false, responsive: true, maintainAspectRatio: false,
    interaction: {mode: 'nearest', intersect: false},
    plugins: {
      legend: {display: plot.curves.length > 1, position: 'bottom', align: 'start',
        labels: {color: ink, usePointStyle: true,
          filter: ({datasetIndex}) => !datasets[datasetIndex].isBeyond}},
      tooltip: {callbacks: {label: tip, title: () => ''}},
    },
    scales: {
      x: scaleOf(plot.x, points.map((point) => point.x), true),
      y: scaleOf(plot.y, points.map((point) => point.y), false),
    },
  };
}

function showPlot(plot) {
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', plot.title);
  const logs = plot.y.scale === 'log' ? ', log axis' : '';
  const beyond = plot.curves.some((curve) => curve.beyond.length > 0)
    ? '; hollow: more was asked for, and less achieved' : '';
  main.append(element('figure', '',
    element('figcaption', '', plot.title,
      element('small', '', `${plot.y.label}${logs}${beyond}`)),
    element('div', 'plot', canvas)));
  const datasets = datasetsOf(plot);
  window.plots.push(new Chart(canvas,
    {type: 'scatter', data: {datasets}, options: optionsOf(plot, datasets)}));
}

// A column of bars: each as long as its number is large.
function barOf(text, texts) {
  const numberOf = (one) => parseFloat(one.replaceAll(',', '')) || 0;
  const bar = element('i');
  bar.style.width = `${100 * numberOf(text) / Math.max(...texts.map(numberOf), 1e-9)}%`;
  return bar;
}

function cellOf(text, column, texts) {
  const cell = element('td', column.text ? 'left' : '');
  const look = /^(reached|yes)$/.test(text) ? 'good' : /^(no$|missed by)/.test(text) ? 'bad' : '';
  cell.append(look ? element('span', look, text) : text);
  if (column.bars && text) cell.append(barOf(text, texts));
  return cell;
}

function showTable(table) {
  const head = table.columns.map((column) =>
    element('th', column.text ? 'left' : '', column.name));
  const textsOf = (i) => table.rows.map((row) => row[i]);
  const rows = table.rows.map((row) => element('tr', row[0].startsWith('plov') ? 'ours' : '',
    ...table.columns.map((column, i) => cellOf(row[i], column, textsOf(i)))));
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
  table: showTable, plot: showPlot,
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
