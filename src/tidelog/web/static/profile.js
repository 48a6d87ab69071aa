// What the evaluation took: pictures, rules, operators and advice.

import { get } from "./api.js";
import { count, fill, h, milliseconds } from "./dom.js";

const PICTURES = [
  ["flame", "Where the time went"],
  ["iterations", "Iterations"],
  ["facts", "Facts against seconds"],
];

export async function showProfile(ground) {
  const profile = await get("/api/profile");
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Profile"),
      h(
        "span",
        { class: "quiet" },
        `evaluated in ${milliseconds(profile.seconds)}, ${count(Math.round(profile.memory / 2 ** 20))} MiB at most`,
      ),
    ),
    profile.is_measured
      ? null
      : h(
          "p",
          { class: "quiet" },
          "Only strata were measured. Start the explorer with --profile, or open the session with profile=True, to see rules, iterations and operators.",
        ),
    profile.advice.map((each) =>
      h(
        "ul",
        { class: "diagnostics" },
        h("li", {}, h("span", { class: "message" }, each.message), h("span", { class: "hint" }, each.hint)),
      ),
    ),
    profile.is_measured ? PICTURES.map(([name, words]) => [h("h2", {}, words), picture(name, words)]) : null,
    profile.rules.length ? [h("h2", {}, "Rules"), rules(profile.rules)] : null,
    profile.operators.length ? [h("h2", {}, "The most expensive operators"), operators(profile.operators)] : null,
    h("h2", {}, "Strata"),
    strata(profile.strata),
  );
}

// The server draws. Alone in the browser, a picture also says what each of its boxes is.
function picture(name, words) {
  const source = `/api/profile/${name}.svg`;
  return h(
    "a",
    { class: "frame whole picture", href: source, target: "_blank", title: "Open the picture" },
    h("img", { src: source, alt: words }),
  );
}

function table(label, columns, rows) {
  const head = columns.map(([words, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, words));
  return h(
    "div",
    { class: "frame whole" },
    h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
  );
}

function numbers(...values) {
  return values.map((each) => h("td", { class: "number" }, typeof each === "number" ? count(each) : each));
}

function rules(found) {
  const columns = [
    ["Seconds", true],
    ["Bindings", true],
    ["Derivations", true],
    ["New facts", true],
    ["Duplicates", true],
    ["Per", true],
    ["Rule", false],
  ];
  return table(
    "Rules",
    columns,
    found.map((each) =>
      h(
        "tr",
        { class: each.is_wasteful ? "wasteful" : null },
        numbers(
          milliseconds(each.seconds),
          each.bindings,
          each.derivations,
          each.new_facts,
          each.duplicates,
          each.bindings ? (each.bindings / Math.max(each.derivations, 1)).toFixed(1) : "",
        ),
        h("td", { class: "mono" }, `${each.place} ${each.delta} ${each.text}`),
      ),
    ),
  );
}

function operators(found) {
  const columns = [
    ["Seconds", true],
    ["Rows in", true],
    ["Rows out", true],
    ["Expected each", true],
    ["Operator", false],
    ["Rule", false],
  ];
  return table(
    "Operators",
    columns,
    found.map((each) =>
      h(
        "tr",
        {},
        numbers(
          milliseconds(each.seconds),
          each.rows_in,
          each.rows_out,
          each.expected === null ? "" : each.expected.toPrecision(3),
        ),
        h("td", { class: "mono" }, each.text),
        h("td", { class: "mono" }, each.rule),
      ),
    ),
  );
}

function strata(found) {
  const columns = [
    ["Relations", false],
    ["Seconds", true],
    ["Planning", true],
    ["Indexes", true],
    ["Iterations", true],
    ["Facts", true],
    ["Derivations", true],
    ["Bindings", true],
  ];
  return table(
    "Strata",
    columns,
    found.map((each) =>
      h(
        "tr",
        {},
        h("td", { class: "mono" }, each.title),
        numbers(
          milliseconds(each.seconds),
          milliseconds(each.planning),
          milliseconds(each.indexes),
          each.iterations,
          each.facts,
          each.derivations,
          each.bindings,
        ),
      ),
    ),
  );
}
