// Program text with line numbers, coloured, a span of it marked.

import { h } from "./dom.js";

const TOKENS = new RegExp(
  [
    /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)/,
    /("(?:\\.|[^"\\\n])*")/,
    /(\.[a-z_]+|:-|\b(?:count|sum|min|max|mean|range|nil|true|false)\b)/,
    /(\b0[xb][\da-fA-F]+|\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?u?\b)/,
    /([A-Za-z_?][\w?.]*)(?=\s*\()/,
  ]
    .map((each) => each.source)
    .join("|"),
  "g",
);
const KINDS = [null, "comment", "string", "keyword", "number", "relation"];

/** Return the pieces of a text: [kind or null, text]. @param {string} text */
export function tokens(text) {
  /** @type {[string | null, string][]} */
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > end) pieces.push([null, text.slice(end, match.index)]);
    pieces.push([KINDS[match.findIndex((group, place) => place > 0 && group !== undefined)], match[0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push([null, text.slice(end)]);
  return pieces;
}

/** Return a text in colours, on one line or several. @param {string} text */
export function coloured(text) {
  return tokens(text).map(([kind, piece]) => (kind ? h("span", { class: `t-${kind}` }, piece) : piece));
}

/**
 * Return the whole source as a list of lines. `onLine(number)` hears of a click on a line.
 * @param {string} text
 * @param {((line: number) => void) | null} onLine
 */
export function sourceLines(text, onLine = null) {
  /** @type {(Node | string)[][]} */
  const lines = [[]];
  for (const [kind, piece] of tokens(text)) {
    piece.split("\n").forEach((part, number) => {
      if (number) lines.push([]);
      if (part) lines.at(-1)?.push(kind ? h("span", { class: `t-${kind}` }, part) : part);
    });
  }
  const list = h(
    "ol",
    { class: "source" },
    lines.map((pieces, number) => {
      const line = h("li", {}, h("code", {}, pieces.length ? pieces : " "));
      line.dataset.line = String(number + 1);
      if (onLine) line.addEventListener("click", () => onLine(number + 1));
      return line;
    }),
  );
  return list;
}

/**
 * Mark the lines of a place and bring them into view; null takes every mark away.
 * @param {HTMLElement} list
 * @param {import("../replies.js").PlaceReply | null} place
 */
export function markLines(list, place) {
  for (const line of list.querySelectorAll("li.marked")) line.classList.remove("marked");
  if (place === null) return;
  const last = place.end_line ?? place.line;
  for (let number = place.line; number <= last; number += 1) list.children[number - 1]?.classList.add("marked");
  const first = list.children[place.line - 1];
  const box = list.closest(".scrolls");
  if (!(first instanceof HTMLElement) || !box) return;
  const wanted = first.offsetTop - Math.max(16, (box.clientHeight - (last - place.line + 1) * 20) / 3);
  box.scrollTop = Math.max(0, wanted);
}
