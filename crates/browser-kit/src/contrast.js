(() => {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [red, green, blue] = parts(colour).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const isThere = (colour) => colour.startsWith('rgb') && (parts(colour)[3] ?? 1) > 0.99;
  // What lies behind a text of a drawing: the last shape below its middle that was drawn before it, else the page.
  const behindDrawn = (text) => {
    const place = text.getBoundingClientRect();
    const [x, y] = [place.left + place.width / 2, place.top + place.height / 2];
    const before = [...text.ownerSVGElement.querySelectorAll('rect')].filter((shape) => {
      const area = shape.getBoundingClientRect();
      const isBelow = area.left <= x && x <= area.right && area.top <= y && y <= area.bottom;
      return isBelow && shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
    });
    return before.length ? getComputedStyle(before[before.length - 1]).fill : behind(text.ownerSVGElement);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (isThere(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  let lowest = { ratio: 21, text: '' };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGTextElement;
    const [ink, paper] = isDrawn ? [style.fill, behindDrawn(element)] : [style.color, behind(element)];
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < lowest.ratio) lowest = { ratio, text: `${text.slice(0, 60)}: ${ink} on ${paper}` };
  }
  return lowest;
})()
