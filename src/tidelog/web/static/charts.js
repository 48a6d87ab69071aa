// Bars over a labelled axis, the scale stated below them.

import { cut, duration, h, s } from "./dom.js";

/** @typedef {{ label: string, value: number, words: string }} Bar */

const LEFT = 170;
const WIDE = 720;
const RIGHT = 70;
const HIGH = 24;
const MOST = 12;

/**
 * Return a chart of seconds: a bar for each row, longest first, on a linear scale from 0.
 * @param {string} caption
 * @param {Bar[]} rows
 */
export function secondsChart(caption, rows) {
  const shown = [...rows].sort((one, other) => other.value - one.value).slice(0, MOST);
  const most = Math.max(...shown.map((each) => each.value), 1e-6);
  const step = niceStep(most / 4);
  const end = Math.ceil(most / step) * step;
  const across = (/** @type {number} */ value) => LEFT + (value / end) * (WIDE - LEFT - RIGHT);
  const bottom = shown.length * HIGH + 6;
  const picture = s(
    "svg",
    { viewBox: `0 0 ${WIDE} ${bottom + 38}`, class: "bar-chart", role: "img" },
    s("title", {}, caption),
  );
  for (let mark = 0; mark <= end + step / 2; mark += step) {
    const x = across(mark);
    picture.append(s("line", { x1: x, x2: x, y1: 0, y2: bottom, class: "grid-line" }));
    picture.append(s("text", { x, y: bottom + 14, "text-anchor": "middle", class: "mark-text" }, duration(mark)));
  }
  picture.append(
    s("text", { x: (LEFT + WIDE - RIGHT) / 2, y: bottom + 32, "text-anchor": "middle", class: "axis-title" }, "time"),
  );
  shown.forEach((each, place) => {
    const y = place * HIGH + 4;
    const width = Math.max(1, across(each.value) - LEFT);
    const name = s("text", { x: LEFT - 8, y: y + 13, "text-anchor": "end", class: "bar-name" }, cut(each.label, 24));
    name.append(s("title", {}, each.label));
    picture.append(
      s("rect", { x: LEFT, y, width, height: HIGH - 8, rx: 3, class: "bar" }, s("title", {}, each.words)),
      name,
      s("text", { x: LEFT + width + 6, y: y + 13, class: "bar-value" }, duration(each.value)),
    );
  });
  const rest = rows.length - shown.length;
  const words = `${caption}. Linear scale${rest > 0 ? `; the ${MOST} longest of ${rows.length}` : ""}.`;
  return h("figure", { class: "chart", tabindex: 0 }, picture, h("figcaption", {}, words));
}

/** Return 1, 2 or 5 times a power of ten, at least as much as asked. @param {number} least */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least) ?? 10 * power;
}
