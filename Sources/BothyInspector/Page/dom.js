// Builds descriptions of elements and brings the document in line with them, changing only what differs: focus, scroll
// and what was typed stay where they are.

const SVG = "http://www.w3.org/2000/svg";

/** Describes an element; `key` distinguishes siblings, functions are listeners (`onclick`). */
export function h(tag, props, ...children) {
  const { key, ...rest } = props ?? {};
  return { tag, key, props: rest, children: flat(children) };
}

function flat(children) {
  const list = [];
  for (const child of children) {
    if (Array.isArray(child)) list.push(...flat(child));
    else if (child !== null && child !== undefined && child !== false && child !== true) list.push(child);
  }
  return list;
}

/** Makes the children of `parent` what `nodes` describe. The focus stays where it is if that is still there. */
export function patch(parent, nodes) {
  const focused = document.activeElement;
  arrange(parent, nodes);
  // An element loses the focus when it is moved in the document.
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

function arrange(parent, nodes) {
  const wanted = flat([nodes]);
  const keyed = new Map(), rest = [];
  for (const node of [...parent.childNodes]) {
    const key = node.bothy?.key;
    if (key !== undefined && !keyed.has(key)) keyed.set(key, node); else rest.push(node);
  }
  const reals = wanted.map((node) => matching(node, keyed, rest) ?? create(node, parent));
  // Removes elements first. Most of the others are in their place then, and need not be moved.
  const kept = new Set(reals);
  for (const node of [...parent.childNodes]) if (!kept.has(node)) node.remove();
  reals.forEach((real, index) => {
    if (parent.childNodes[index] !== real) parent.insertBefore(real, parent.childNodes[index] ?? null);
    update(real, wanted[index]);
  });
}

function matching(node, keyed, rest) {
  if (typeof node !== "object") return take(rest, (real) => real.nodeType === Node.TEXT_NODE);
  if (node.key !== undefined) {
    const real = keyed.get(node.key);
    keyed.delete(node.key);
    return real?.localName === node.tag ? real : undefined;
  }
  return take(rest, (real) => real.localName === node.tag && real.bothy?.key === undefined);
}

function take(list, fits) {
  const index = list.findIndex(fits);
  return index < 0 ? undefined : list.splice(index, 1)[0];
}

function create(node, parent) {
  if (typeof node !== "object") return document.createTextNode(String(node));
  const space = node.tag === "svg" ? SVG : parent.namespaceURI === SVG ? SVG : "http://www.w3.org/1999/xhtml";
  const real = document.createElementNS(space, node.tag);
  real.bothy = { key: node.key, props: {} };
  return real;
}

function update(real, node) {
  if (typeof node !== "object") {
    if (real.data !== String(node)) real.data = String(node);
    return;
  }
  real.bothy ??= { props: {} };
  const old = real.bothy.props;
  for (const name of new Set([...Object.keys(old), ...Object.keys(node.props)])) {
    if (old[name] !== node.props[name]) set(real, name, node.props[name], old[name]);
  }
  // A click changes a box by itself.
  if ("checked" in node.props) real.checked = Boolean(node.props.checked);
  real.bothy = { key: node.key, props: node.props };
  arrange(real, node.children);
}

function set(real, name, value, old) {
  if (name.startsWith("on")) real[name] = value ?? null;
  else if (name === "checked") return;
  else if (name === "value" && "value" in real) {
    const isBeingTyped = real === document.activeElement && real.value !== (old ?? "");
    if (!isBeingTyped) real.value = value ?? "";
  }
  else if (value === null || value === undefined || value === false) real.removeAttribute(name);
  else real.setAttribute(name, value === true ? "" : String(value));
}

/**
 * The action of a button. A button that can't act now says so, and does nothing. It keeps the focus, which a button that is
 * `disabled` loses, so that the next key goes on from there.
 */
export const acts = (isAble, action) => isAble ? { onclick: action } : { "aria-disabled": "true" };

/** Says something to those who listen rather than look. */
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = live.textContent === text ? text + "\u00a0" : text;
}

/** Moves the focus to the new element, so that the next key continues there. */
export function focusOn(selector) {
  const real = document.querySelector(selector);
  if (!real) return;
  if (!real.hasAttribute("tabindex") && !real.matches("a,button,input,select,textarea")) {
    real.setAttribute("tabindex", "-1");
  }
  real.focus();
}
