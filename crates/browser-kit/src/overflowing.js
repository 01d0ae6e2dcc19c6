(() => {
  const edge = document.documentElement.clientWidth;
  const movesByItself = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  const over = [...document.body.querySelectorAll('*')].filter((element) => {
    const place = element.getBoundingClientRect();
    return place.width > 0 && (place.right > edge + 0.5 || place.left < -0.5) && !movesByItself(element);
  });
  const told = over.map((element) => {
    const { left, right } = element.getBoundingClientRect();
    return `${element.tagName} ${left.toFixed(1)} to ${right.toFixed(1)} of ${edge}: ${element.textContent.slice(0, 60)}`;
  });
  if (document.documentElement.scrollWidth > edge) {
    told.push(`the page is ${document.documentElement.scrollWidth} wide, of ${edge}`);
  }
  return told;
})()
