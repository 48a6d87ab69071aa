// Epochs as bars over an axis: what each inserted above, what it deleted below.

import { count, counted, duration, h, s } from "./dom.js";

/** @typedef {import("../replies.js").EpochNumbers} Epoch */

const MIDDLE = 62;
const TALLEST = 50;

/**
 * Return the timeline; arrows move between the epochs.
 * @param {Epoch[]} epochs
 * @param {number} wanted
 * @param {(epoch: number) => void} choose
 */
export function timeline(epochs, wanted, choose) {
  const most = Math.max(1, ...epochs.map((each) => Math.max(each.inserted, each.deleted)));
  const list = h("div", {
    class: "timeline",
    role: "listbox",
    "aria-label": "Epochs",
    "aria-orientation": "horizontal",
    tabindex: -1,
  });
  const select = (/** @type {Element} */ item) => {
    for (const each of list.querySelectorAll("[role=option]")) {
      each.setAttribute("aria-selected", String(each === item));
      each.setAttribute("tabindex", each === item ? "0" : "-1");
    }
  };
  for (const each of epochs) {
    const item = tick(each, most);
    item.addEventListener("click", () => {
      select(item);
      choose(each.epoch);
      item.focus();
    });
    list.append(item);
    if (each.epoch === wanted) select(item);
  }
  list.addEventListener("keydown", (event) => {
    const items = /** @type {HTMLElement[]} */ ([...list.children]);
    const place = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined || !items[to]) return;
    event.preventDefault();
    items[to].click();
  });
  const scale = `on a logarithmic scale up to ${count(most)}`;
  const words = `Facts that each epoch inserted (above) and deleted (below), ${scale}.`;
  return {
    element: h(
      "figure",
      { class: "chart" },
      h("div", { class: "chart-body" }, axis(most), list),
      h("figcaption", {}, words),
    ),
    list,
  };
}

/** @param {number} number @param {number} most */
function height(number, most) {
  return number ? 4 + (Math.log1p(number) / Math.log1p(most)) * (TALLEST - 4) : 0;
}

/** @param {Epoch} each @param {number} most */
function tick(each, most) {
  const [inserted, deleted] = [counted(each.inserted, "fact"), counted(each.deleted, "fact")];
  const words = `Epoch ${each.epoch}: ${inserted} inserted, ${deleted} deleted, ${duration(each.seconds)}`;
  const [up, down] = [height(each.inserted, most), height(each.deleted, most)];
  const picture = s(
    "svg",
    { viewBox: "0 0 22 124", class: "bars", "aria-hidden": "true" },
    s("line", { x1: 0, x2: 22, y1: MIDDLE, y2: MIDDLE, class: "axis" }),
    s("rect", { x: 3, y: MIDDLE - 1 - up, width: 16, height: up, rx: 2, class: "plus" }),
    s("rect", { x: 3, y: MIDDLE + 1, width: 16, height: down, rx: 2, class: "minus" }),
  );
  return h(
    "div",
    { role: "option", class: "tick", title: words, "aria-label": words, tabindex: "-1", "aria-selected": "false" },
    picture,
    h("span", { class: "number" }, each.epoch),
  );
}

/** The marks of the scale: the powers of ten that fit, on both sides. @param {number} most */
function axis(most) {
  const picture = s("svg", { viewBox: "0 0 44 124", class: "axis-marks", "aria-hidden": "true" });
  const marks = [0];
  for (let mark = 1; mark <= most; mark *= most > 1000 ? 100 : 10) marks.push(mark);
  if (marks.at(-1) !== most && marks.length < 4) marks.push(most);
  for (const mark of marks) {
    const up = height(mark, most);
    for (const y of mark ? [MIDDLE - up, MIDDLE + up] : [MIDDLE]) {
      picture.append(s("line", { x1: 40, x2: 44, y1: y, y2: y, class: "axis" }));
      picture.append(s("text", { x: 37, y: y + 3, "text-anchor": "end", class: "mark-text" }, short(mark)));
    }
  }
  return picture;
}

/** @param {number} number */
function short(number) {
  if (number >= 1e6) return `${number / 1e6}M`;
  return number >= 1000 ? `${Math.round(number / 100) / 10}k` : String(number);
}
