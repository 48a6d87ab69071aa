// What the evaluation took: charts, pictures, rules, operators and advice.

import { askProfile } from "./calls.js";
import { secondsChart } from "./charts.js";
import { count, duration, fill, h } from "./dom.js";

/** @typedef {import("../replies.js").ProfileReply} Profile */

const PICTURES = [
  ["flame", "Where the time went: strata, rules and operators"],
  ["iterations", "Iterations"],
  ["facts", "Facts against seconds"],
];

/** @param {HTMLElement} ground */
export async function showProfile(ground) {
  const profile = await askProfile();
  const words = `evaluated in ${duration(profile.seconds)}, ${count(Math.round(profile.memory / 2 ** 20))} MiB at most`;
  const how = [
    "Only strata were measured. Start the explorer with --profile, or open the session with profile=True,",
    "to see rules, iterations and operators.",
  ].join(" ");
  const { rules, strata, operators } = profile;
  fill(
    ground,
    h("div", { class: "heading" }, h("h1", {}, "Profile"), h("span", { class: "quiet" }, words)),
    profile.is_measured ? null : h("p", { class: "quiet" }, how),
    profile.advice.length ? advice(profile.advice) : null,
    strata.length ? [h("h2", {}, "Strata"), strataChart(strata), strataTable(strata)] : null,
    rules.length ? [h("h2", {}, "Rules"), rulesChart(rules), rulesTable(rules)] : null,
    profile.is_measured ? PICTURES.map(([name, title]) => [h("h2", {}, title), picture(name, title)]) : null,
    operators.length ? [h("h2", {}, "The most expensive operators"), operatorsTable(operators)] : null,
    strata.length ? null : h("p", { class: "quiet" }, "No stratum has derived a fact."),
  );
}

/** @param {Profile["advice"]} found */
function advice(found) {
  const item = (/** @type {Profile["advice"][number]} */ each) =>
    h(
      "li",
      { class: "warning" },
      h("span", { class: "message" }, each.message),
      h("span", { class: "hint" }, each.hint),
    );
  return h("div", { class: "diagnostics" }, h("ul", { "aria-label": "Advice" }, found.map(item)));
}

/** @param {Profile["strata"]} found */
function strataChart(found) {
  const bar = (/** @type {Profile["strata"][number]} */ each) => ({
    label: each.title,
    value: each.seconds,
    words: `${each.title}: ${duration(each.seconds)}, ${count(each.iterations)} iterations`,
  });
  return secondsChart("Time of each stratum", found.map(bar));
}

/** @param {Profile["rules"]} found */
function rulesChart(found) {
  const bar = (/** @type {Profile["rules"][number]} */ each) => ({
    label: `${each.place} ${each.delta}`.trim(),
    value: each.seconds,
    words: `${each.text}: ${duration(each.seconds)}`,
  });
  return secondsChart("Time of each rule", found.map(bar));
}

// The server draws. Alone in the browser, a picture also says what each of its boxes is.
/**
 * @param {string} name
 * @param {string} words
 */
function picture(name, words) {
  const source = `/api/profile/${name}.svg`;
  const link = { class: "frame whole picture", href: source, target: "_blank", title: "Open the picture" };
  return h("a", link, h("img", { src: source, alt: `${words} (opens the picture)` }));
}

/**
 * @param {string} label
 * @param {[words: string, isNumber: boolean][]} columns
 * @param {HTMLElement[]} rows
 */
function table(label, columns, rows) {
  const head = columns.map(([words, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, words));
  return h(
    "div",
    { class: "frame whole", tabindex: 0, role: "group", "aria-label": `${label}, measured` },
    h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
  );
}

/** @param {(number | string)[]} values */
function numbers(...values) {
  return values.map((each) => h("td", { class: "number" }, typeof each === "number" ? count(each) : each));
}

/** @param {Profile["rules"]} found */
function rulesTable(found) {
  const row = (/** @type {Profile["rules"][number]} */ each) => {
    const per = each.bindings ? (each.bindings / Math.max(each.derivations, 1)).toFixed(1) : "";
    return h(
      "tr",
      { class: each.is_wasteful ? "wasteful" : null },
      h("td", { class: "mono" }, `${each.place} ${each.delta} ${each.text}`),
      numbers(duration(each.seconds), each.bindings, each.derivations, each.new_facts, each.duplicates, per),
    );
  };
  return table(
    "Rules",
    [
      ["Rule", false],
      ["Time", true],
      ["Bindings", true],
      ["Derivations", true],
      ["New facts", true],
      ["Duplicates", true],
      ["Bindings each", true],
    ],
    found.map(row),
  );
}

/** @param {Profile["operators"]} found */
function operatorsTable(found) {
  const row = (/** @type {Profile["operators"][number]} */ each) =>
    h(
      "tr",
      {},
      h("td", { class: "mono" }, each.text),
      numbers(duration(each.seconds), each.rows_in, each.rows_out, each.expected?.toPrecision(3) ?? ""),
      h("td", { class: "mono" }, each.rule),
    );
  return table(
    "Operators",
    [
      ["Operator", false],
      ["Time", true],
      ["Rows in", true],
      ["Rows out", true],
      ["Expected each", true],
      ["Rule", false],
    ],
    found.map(row),
  );
}

/** @param {Profile["strata"]} found */
function strataTable(found) {
  const row = (/** @type {Profile["strata"][number]} */ each) => {
    const times = [each.seconds, each.planning, each.indexes].map(duration);
    const counts = [each.iterations, each.facts, each.derivations, each.bindings];
    return h("tr", {}, h("td", { class: "mono" }, each.title), numbers(...times, ...counts));
  };
  return table(
    "Strata",
    [
      ["Relations", false],
      ["Time", true],
      ["Planning", true],
      ["Indexes", true],
      ["Iterations", true],
      ["Facts", true],
      ["Derivations", true],
      ["Bindings", true],
    ],
    found.map(row),
  );
}
