// Texts of which nothing would be seen: empty ones, tabs, line ends, spaces at an end.

import { h } from "./dom.js";

const MARKS = /\t|\r|\n|^ +| +$/g;
const SIGNS = { "\t": "⇥", "\r": "␍", "\n": "↵", " ": "␣" };
const WORDS = { "\t": "tab", "\r": "carriage return", "\n": "line end", " ": "space" };

/**
 * Return a text with a sign for each character that leaves no trace.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function visible(text) {
  if (text === "") return [h("span", { class: "trace" }, "empty")];
  /** @type {(Node | string)[]} */
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > end) pieces.push(text.slice(end, match.index));
    const character = /** @type {keyof typeof SIGNS} */ (match[0][0]);
    const sign = SIGNS[character].repeat(match[0].length);
    pieces.push(h("span", { class: "trace", title: WORDS[character] }, sign));
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}
