// Two epochs side by side: what each changed, what it decided for every stratum, and what that took.

import { askEpoch } from "./calls.js";
import { count, duration, fill, h } from "./dom.js";
import { showError } from "./notices.js";

/** @typedef {import("../replies.js").EpochReply} Epoch */

/**
 * @param {{ epoch: number }[]} epochs
 * @param {number} wanted
 */
export function compareEpochs(epochs, wanted) {
  const numbers = epochs.map((each) => each.epoch);
  const other = numbers.filter((each) => each !== wanted).at(-1) ?? numbers[0];
  const result = h("div", { role: "status" });
  const choice = (/** @type {string} */ label, /** @type {number} */ chosen) => {
    const options = numbers.map((each) => h("option", { value: each, selected: each === chosen }, `epoch ${each}`));
    return h("select", { class: "small", "aria-label": label, on: { change: () => show().catch(showError) } }, options);
  };
  const [left, right] = [
    choice("First epoch", Math.min(wanted, other)),
    choice("Second epoch", Math.max(wanted, other)),
  ];
  const show = async () => {
    const [one, two] = await Promise.all([askEpoch(Number(left.value)), askEpoch(Number(right.value))]);
    fill(result, comparison(one, two));
  };
  const part = h(
    "details",
    { class: "compare" },
    h("summary", {}, "Compare two epochs"),
    h("div", { class: "choices" }, left, h("span", { class: "quiet" }, "and"), right),
    result,
  );
  part.addEventListener("toggle", () => {
    if (part.open) show().catch(showError);
  });
  return part;
}

/**
 * @param {Epoch} one
 * @param {Epoch} two
 */
function comparison(one, two) {
  const heads = [one, two].map((each) => h("th", { scope: "col", class: "number" }, `Epoch ${each.epoch}`));
  const line = (/** @type {string} */ words, /** @type {(epoch: Epoch) => string} */ value) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, words),
      [one, two].map((each) => h("td", { class: "number" }, value(each))),
    );
  const relations = [...new Set([...one.relations, ...two.relations].map((each) => each.name))];
  const strata = [...new Set([...one.strata, ...two.strata].map((each) => each.relations.join(", ")))];
  const rows = [
    line("Time", (each) => duration(each.seconds)),
    line("Facts inserted", (each) => count(each.inserted)),
    line("Facts deleted", (each) => count(each.deleted)),
    line("Changed by rules", (each) => count(each.impact)),
    ...relations.map((name) => line(name, (each) => change(each.relations.find((found) => found.name === name)))),
    ...strata.map((name) => line(`Stratum of ${name}`, (each) => decision(each, name))),
  ];
  return h(
    "div",
    { class: "frame whole", tabindex: 0, role: "group", "aria-label": "Comparison" },
    h(
      "table",
      { "aria-label": `Epochs ${one.epoch} and ${two.epoch}` },
      h("thead", {}, h("tr", {}, h("td", {}), heads)),
      h("tbody", {}, rows),
    ),
  );
}

/** @param {Epoch["relations"][number] | undefined} found */
function change(found) {
  if (!found) return "no change";
  const words = [found.inserted ? `+${count(found.inserted)}` : "", found.deleted ? `−${count(found.deleted)}` : ""];
  return words.filter(Boolean).join(" ");
}

/**
 * @param {Epoch} epoch
 * @param {string} name
 */
function decision(epoch, name) {
  const found = epoch.strata.find((each) => each.relations.join(", ") === name);
  if (!found) return "not there";
  return found.action === "skipped" ? "skipped" : `${found.action} (${found.strategy}), ${duration(found.seconds)}`;
}
