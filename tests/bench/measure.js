// What a page looks like, as the browser has laid it out: problems, as sentences. An expression,
// evaluated in the page by browser.py.
(() => {
  const problems = [];
  const slack = 1;  // pixels that do not matter
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;

  const rgba = (text) => text.startsWith('#')
    ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))
    : (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // WCAG 2.1; text is to have 4.5.
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const paperOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return dark ? [18, 18, 18] : [255, 255, 255];
  };
  if (root.scrollWidth > root.clientWidth) {
    problems.push(`the page is wider than the window: ${root.scrollWidth} > ${root.clientWidth}`);
  }
  const words = 'h1, h2, p, dt, dd, td, th, .headline, figcaption, small';
  for (const element of document.querySelectorAll(words)) {
    const ratio = contrast(rgba(getComputedStyle(element).color), paperOf(element));
    if (ratio < 4.5) problems.push(`'${element.textContent}' is hard to read: ${ratio.toFixed(1)}`);
  }
  const paper = paperOf(document.body);
  if (dark && luminance(paper) > 0.2) problems.push('the page is not dark');
  if (!document.querySelector('.headline')) problems.push('the page has no headline');

  for (const bar of document.querySelectorAll('td i')) {
    const {width, height} = bar.getBoundingClientRect();
    if (!(width >= 1 && height > 2)) problems.push('a bar is not drawn');
  }

  for (const plot of window.plots) {
    const tell = (text) => problems.push(`plot '${plot.canvas.ariaLabel}': ${text}`);
    const {width, height} = plot.canvas.getBoundingClientRect();
    if (!(width > 200 && height > 200)) {
      tell(`has no size: ${width} x ${height}`);
      continue;
    }
    const named = plot.data.datasets.filter((one) => one.label && !one.isBeyond);
    const names = plot.legend.options.display ? plot.legend.legendItems.map((one) => one.text) : [];
    if (named.length > 1 && !named.every((one) => names.includes(one.label))) {
      tell('does not name its curves');
    }
    if (plot.chartArea.height < 100) tell('is squeezed by its names');
    const wide = plot.legend.legendHitBoxes.find((box) => box.left + box.width > width + slack);
    if (named.length > 1 && wide) tell('has a name that sticks out');
    // The canvas is transparent where nothing is drawn; a hollow mark is drawn around its point.
    const pixels = plot.ctx.getImageData(0, 0, width, height).data;
    const isDrawn = (point) => {
      for (let y = Math.round(point.y) - 6; y <= point.y + 6; ++y) {
        for (let x = Math.round(point.x) - 6; x <= point.x + 6; ++x) {
          if (pixels[4 * (y * Math.round(width) + x) + 3] > 0) return true;
        }
      }
      return false;
    };
    plot.data.datasets.forEach((dataset, i) => {
      const points = plot.getDatasetMeta(i).data;
      if (points.length === 0) tell(`'${dataset.label}' has no points`);
      if (!points.every(isDrawn)) tell(`shows nothing of '${dataset.label}'`);
      if (contrast(rgba(dataset.borderColor), paper) < 2) tell(`${dataset.borderColor} is hard to see`);
    });
  }
  if (window.plots.length + document.querySelectorAll('td i').length === 0) {
    problems.push('the page has no plot');
  }
  return problems;
})()
