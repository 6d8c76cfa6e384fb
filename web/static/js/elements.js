// Building and updating elements; text is always text, never markup.

/** An element with properties (`class`, `on…`, attributes) and children. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An icon of the sprite in the page. */
export function icon(name) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('aria-hidden', 'true');
  svg.classList.add('icon');
  const use = document.createElementNS(namespace, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** Set text only where it changed, so that nothing is announced or laid out in vain. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Show or hide what one may have pressed: the focus that it has then goes to `heir()`. */
export function setHidden(element, isHidden, heir) {
  const isHeld = isHidden && document.activeElement === element;
  element.hidden = isHidden;
  if (isHeld) heir()?.focus();
}

/**
 * Make the children of `parent` match `items` in order, reusing those with the same key. What has
 * the focus keeps it where it is moved.
 */
export function keyed(parent, items, keyOf, create, update) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const known = (parent.known ??= new Map());
  const wanted = new Set(items.map(keyOf));
  for (const [key, child] of known) {
    if (!wanted.has(key)) {
      child.remove();
      known.delete(key);
    }
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = known.get(key);
    if (!child) known.set(key, (child = create(item)));
    update(child, item);
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
  if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}
