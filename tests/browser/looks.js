// What is looked at on a page: by axe, and by where things lie. Each finding is a text.
window.looks = (() => {
  const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const LAYERS = ['absolute', 'fixed', 'sticky'];
  const said = (node) => (node.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 40);
  const named = (element) => `${element.localName}${element.id && `#${element.id}`}${[...element.classList].map((name) => `.${name}`).join('')}`;

  /** What axe finds by some of its rules, or by all. */
  async function axe(...rules) {
    const runOnly = rules.length ? { type: 'rule', values: rules } : { type: 'tag', values: TAGS };
    const { violations } = await window.axe.run(document, { runOnly, resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, any }) => `${id}: ${html.slice(0, 160)} ${any[0]?.message ?? ''}`));
  }

  /** Texts that are seen, with the boxes of their lines. Those of the map lie where its places do. */
  function* texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { currentNode: node } = walker;
      const element = node.parentElement;
      if (!node.data.trim() || element.closest('script, style, noscript, .visually-hidden, .skip, .sprite, .leaflet-map-pane')) continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const boxes = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
      if (boxes.length) yield { node, element, boxes };
    }
  }

  const isBeyond = (box, outer) => box.left < outer.left - 1.5 || box.right > outer.right + 1.5;
  const isBelow = (box, outer) => box.top < outer.top - 3 || box.bottom > outer.bottom + 3;

  /** Text that is cut off, or that leaves the box it stands in. */
  function* cut(found) {
    for (const { node, element, boxes } of found) {
      for (let outer = element; outer !== document.body; outer = outer.parentElement) {
        const style = getComputedStyle(outer);
        if (style.display === 'inline' || style.display === 'contents') continue;
        const area = outer.getBoundingClientRect();
        const hides = (overflow) => ['hidden', 'clip'].includes(overflow);
        const isBox = parseFloat(style.borderLeftWidth) > 0 || style.backgroundColor !== 'rgba(0, 0, 0, 0)';
        if (['auto', 'scroll'].includes(style.overflowX)) break;
        const isCut = boxes.some((box) => ((isBox || hides(style.overflowX)) && isBeyond(box, area)) || ((isBox || hides(style.overflowY)) && isBelow(box, area)));
        if (isCut) yield `cut: “${said(node)}” in ${named(outer)}`;
        if (isCut || LAYERS.includes(style.position)) break;
      }
    }
  }

  const layer = (element) => {
    for (let outer = element; outer; outer = outer.parentElement) {
      const { position, overflowY } = getComputedStyle(outer);
      if (outer.localName === 'dialog' || LAYERS.includes(position) || ['auto', 'scroll'].includes(overflowY)) return outer;
    }
    return null;
  };

  /** Texts that lie on one another. */
  function* mixed(found) {
    const lines = found.flatMap(({ node, element, boxes }) => boxes.map((box) => ({ node, box, layer: layer(element) })));
    for (const [index, a] of lines.entries()) {
      for (const b of lines.slice(index + 1)) {
        if (a.layer !== b.layer || a.node === b.node) continue;
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 2 && high > 6) yield `mixed: “${said(a.node)}” and “${said(b.node)}”`;
      }
    }
  }

  /** Main buttons that something lies on, once they are scrolled to. */
  function* covered() {
    const shown = document.querySelector('dialog[open]') ?? document;
    for (const button of shown.querySelectorAll('.primary')) {
      if (!button.checkVisibility({ visibilityProperty: true })) continue;
      button.scrollIntoView({ block: 'center' });
      const { left, top, right, bottom } = button.getBoundingClientRect();
      const points = [[left + 6, (top + bottom) / 2], [(left + right) / 2, (top + bottom) / 2], [right - 6, (top + bottom) / 2]];
      const over = points.map(([x, y]) => document.elementFromPoint(x, y)).find((there) => !button.contains(there) && !there?.closest('.menu-body'));
      if (over !== undefined) yield `covered: “${said(button)}” by ${over ? named(over) : 'the edge of the window'}`;
    }
  }

  /** What is wider than the window, or than its dialog. */
  function* wide() {
    for (const outer of [document.documentElement, ...document.querySelectorAll('dialog[open], .plan-body, .panel')]) {
      if (!outer.checkVisibility() || outer.scrollWidth <= outer.clientWidth) continue;
      const edge = outer.getBoundingClientRect().left + outer.clientWidth;
      const widest = [...outer.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > edge + 0.5).slice(-3).map(named);
      yield `wide: ${named(outer)} is ${outer.scrollWidth} px in ${outer.clientWidth}, by ${widest}`;
    }
  }

  /** A header whose menus do not stand in its first line. */
  function* broken() {
    const [brand, ...menus] = [...document.querySelectorAll('.top > .brand, .top .menu > summary')].map((each) => each.getBoundingClientRect());
    if (menus.some(({ top }) => top > brand.bottom)) yield 'broken: the header has a line too many';
  }

  /** Cards of the map that lie on one another; what is opened may. */
  function* stacked() {
    const cards = [...document.querySelectorAll('.map-area > .card:not([hidden], [open])')].filter((card) => card.checkVisibility({ visibilityProperty: true }) && !card.querySelector('.suggestions:not([hidden])'));
    const boxes = cards.map((card) => card.getBoundingClientRect());
    for (const [index, a] of boxes.entries()) {
      const other = boxes.findIndex((b, at) => at > index && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom);
      if (other >= 0) yield `stacked: ${named(cards[index])} and ${named(cards[other])}`;
    }
  }

  /** Texts that nobody has written: their keys stand there. */
  function* unwritten(found) {
    for (const { node } of found) if (/^[a-z]+(\.[a-z]+)+$/.test(node.data.trim()) && !node.parentElement.closest('code, pre')) yield `unwritten: ${said(node)}`;
  }

  function layout() {
    scrollTo(0, 0);
    const found = [...texts()];
    const faults = [...unwritten(found), ...wide(), ...cut(found), ...mixed(found), ...covered(), ...broken(), ...stacked()];
    scrollTo(0, 0);
    return [...new Set(faults)];
  }

  return { axe, layout };
})();
