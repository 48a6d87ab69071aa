// Elements made of data. Texts become text nodes and nothing else, so a fact can never be markup.

/** @typedef {Node | string | number | null | undefined | false | any[]} Child */

/**
 * Return an element: h("a", { class: "x", href: "#/", on: { click: f } }, "text", [more, null]).
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} properties
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (name === "value" && "value" in element) {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * Put new children in the place of the old ones.
 * @template {Element} E
 * @param {E} element
 * @param {Child[]} children
 * @returns {E}
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * Return an element that the page always has.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of /** @type {any[]} */ (children).flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

const SHAPES = {
  search: ["M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z", "M20 20l-4-4"],
  sun: [
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
    "M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  ],
  moon: ["M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z"],
  half: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", "M12 3v18"],
  close: ["M6 6l12 12M18 6L6 18"],
  question: ["M9.2 9a3 3 0 1 1 4.3 3c-1 .5-1.5 1-1.5 2.2", "M12 18h.01"],
  down: ["M6 9l6 6 6-6"],
  right: ["M9 6l6 6-6 6"],
  left: ["M15 6l-6 6 6 6"],
  up: ["M6 15l6-6 6 6"],
  sort: ["M8 10l4-4 4 4M8 14l4 4 4-4"],
  first: ["M18 6l-6 6 6 6M6 6v12"],
  last: ["M6 6l6 6-6 6M18 6v12"],
  plus: ["M12 5v14M5 12h14"],
  minus: ["M5 12h14"],
  page: ["M7 3h7l4 4v14H7z", "M14 3v4h4"],
  expand: ["M14 4h6v6M20 4l-8 8M10 20H4v-6M4 20l8-8"],
  keys: ["M3 7h18v10H3z", "M7 11h.01M11 11h.01M15 11h.01M8 14h8"],
  undo: ["M9 7L4 12l5 5", "M4 12h11a5 5 0 0 1 0 10h-3"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  copy: ["M9 9h11v11H9z", "M5 15H4V4h11v1"],
  save: ["M12 4v11M7 11l5 5 5-5", "M5 20h14"],
  edit: ["M4 20l1-4L16 5l3 3L8 19z"],
  bin: ["M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13"],
};

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an element of a picture, with attributes: the page's policy forbids styles written into elements.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | null>} attributes
 * @param {(Node | string)[]} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Return one of the small pictures; it says nothing to a screen reader, the words beside it do.
 * @param {keyof typeof SHAPES} name
 */
export function icon(name) {
  const shapes = SHAPES[name].map((shape) => s("path", { d: shape }));
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, ...shapes);
}

/** Return a number as people read it: 1,234,567. @param {number} number */
export function count(number) {
  return number.toLocaleString("en-US");
}

/**
 * Return a number with its noun: "1 fact", "2 facts", "3 strata".
 * @param {number} number
 * @param {string} noun
 * @param {string} plural
 */
export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** Return "+3", or "0" without a sign that would mean nothing. @param {number} number @param {string} sign */
export function signed(number, sign) {
  return number === 0 ? "0" : `${sign}${count(number)}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  return seconds >= 1 ? `${seconds.toFixed(2)} s` : `${(seconds * 1000).toFixed(1)} ms`;
}

/**
 * Return a text that is cut where it is too long for its place.
 * @param {string} text
 * @param {number} most
 */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/**
 * Return a function that waits until nobody has called it for a while.
 * @template {any[]} V
 * @param {number} wait
 * @param {(...values: V) => void} work
 */
export function later(wait, work) {
  let timer = 0;
  return (/** @type {V} */ ...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait);
  };
}
