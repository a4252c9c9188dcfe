// What a page looks like, as the browser has laid it out: problems, as sentences, and where the
// pictures are. An expression, evaluated in the page by browser.py.
(() => {
  const problems = [];
  const slack = 1;  // pixels that do not matter
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;

  const rgba = (text) => (text.match(/[\d.]+/g) || []).map(Number);
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
  const isInside = (inner, outer) => inner.left >= outer.left - slack &&
    inner.right <= outer.right + slack && inner.top >= outer.top - slack &&
    inner.bottom <= outer.bottom + slack;
  const covers = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;

  if (root.scrollWidth > root.clientWidth) {
    problems.push(`the page is wider than the window: ${root.scrollWidth} > ${root.clientWidth}`);
  }
  for (const element of document.querySelectorAll('h1, p, dt, dd, td, th, caption')) {
    const ratio = contrast(rgba(getComputedStyle(element).color), paperOf(element));
    if (ratio < 4.5) problems.push(`'${element.textContent}' is hard to read: ${ratio.toFixed(1)}`);
  }
  if (dark && luminance(paperOf(document.body)) > 0.2) problems.push('the page is not dark');

  const pictures = [...document.querySelectorAll('svg')].map((svg) => {
    const name = svg.getAttribute('aria-label');
    const box = svg.getBoundingClientRect();
    const tell = (text) => problems.push(`picture '${name}': ${text}`);
    if (!(box.width > 50 && box.height > 50)) tell(`has no size: ${box.width} x ${box.height}`);
    if (box.left < 0 || box.right > root.clientWidth + slack) tell('sticks out of the page');

    const paper = rgba(getComputedStyle(svg.querySelector('.paper')).fill);
    if (dark && luminance(paper) > 0.2) tell('is not dark');
    const texts = [...svg.querySelectorAll('text')];
    if (texts.length < 4) tell('has no labels');
    const boxes = texts.map((text) => text.getBoundingClientRect());
    texts.forEach((text, i) => {
      const words = `'${text.textContent}'`;
      if (!isInside(boxes[i], box)) tell(`${words} sticks out`);
      if (text.textContent && !boxes[i].width) tell(`${words} is not drawn`);
      const ratio = contrast(rgba(getComputedStyle(text).fill), paper);
      if (ratio < 4.5) tell(`${words} is hard to read: ${ratio.toFixed(1)}`);
      for (let j = 0; j < i; ++j) {
        if (covers(boxes[i], boxes[j])) tell(`${words} covers '${texts[j].textContent}'`);
      }
    });

    const colors = new Map();
    let marks = 0;
    for (const mark of svg.querySelectorAll('circle, polyline, rect[class^="s"]')) {
      const place = mark.getBoundingClientRect();
      if (!isInside(place, box)) tell(`a ${mark.tagName} sticks out`);
      if (mark.tagName === 'polyline' && mark.points.length < 2) continue;
      if (place.width + place.height < 1) continue;
      ++marks;
      const color = rgba(getComputedStyle(mark).color).slice(0, 3);
      if (contrast(color, paper) < 2) tell(`the colour ${color} is hard to see`);
      // Lines are drawn with soft edges; dots and bars have pixels of their colour alone.
      const solid = mark.tagName === 'rect' ? place.width > 4
        : mark.tagName === 'circle' && mark.getAttribute('opacity') !== '0';
      if (solid) colors.set(String(color), color);
    }
    if (marks === 0) tell('has no curve and no bar');
    return {
      name, x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
      colors: [...colors.values()],
    };
  });
  if (pictures.length === 0) problems.push('the page has no picture');
  return {problems, pictures};
})()
