// The first page: every relation at a glance, and what the checks found strange.

import { count, counted, fill, h } from "./dom.js";
import { kinds } from "./facts.js";
import { diagnosticList } from "./notices.js";
import { address } from "./router.js";
import { session } from "./session.js";

/** @typedef {import("../replies.js").RelationReply} Relation */

/** @param {HTMLElement} ground */
export function showOverview(ground) {
  const { relations, title, epoch, warnings } = session.about;
  const total = relations.reduce((sum, each) => sum + each.size, 0);
  const largest = Math.max(1, ...relations.map((each) => each.size));
  const derived = relations.filter((each) => each.is_derived).length;
  const heads = ["Relation", "Columns", "Kind"].map((each) => h("th", { scope: "col" }, each));
  fill(
    ground,
    h("div", { class: "heading" }, h("h1", {}, title)),
    h(
      "div",
      { class: "cards" },
      card(count(relations.length), relations.length === 1 ? "relation" : "relations"),
      card(count(derived), "derived by rules"),
      card(count(total), total === 1 ? "fact" : "facts"),
      card(String(epoch), "present epoch"),
    ),
    warnings.length ? [h("h2", {}, counted(warnings.length, "warning")), diagnosticList(warnings)] : null,
    h(
      "div",
      { class: "frame whole overview", tabindex: 0, role: "group", "aria-label": "All relations" },
      h(
        "table",
        { "aria-label": "Relations" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads,
            h("th", { scope: "col", class: "number" }, "Facts"),
            h("th", { scope: "col", class: "share" }, "Logarithmic scale"),
          ),
        ),
        h(
          "tbody",
          {},
          relations.map((each) => row(each, largest)),
        ),
      ),
    ),
  );
}

/**
 * @param {Relation} each
 * @param {number} largest
 */
function row(each, largest) {
  const columns = each.columns.map((column, place) => [
    place ? ", " : null,
    column.name,
    h("span", { class: "quiet" }, `: ${column.type}`),
  ]);
  const share = { min: 0, max: Math.log1p(largest), value: Math.log1p(each.size), "aria-hidden": "true" };
  return h(
    "tr",
    {},
    h("td", {}, h("a", { href: address("facts", each.name), class: "mono" }, each.name)),
    h("td", { class: "mono columns" }, columns),
    h("td", { class: "quiet" }, kinds(each).join(", ")),
    h("td", { class: "number" }, count(each.size)),
    h("td", { class: "share" }, h("meter", share)),
  );
}

/**
 * @param {string} value
 * @param {string} words
 */
function card(value, words) {
  return h("div", { class: "card" }, h("strong", {}, value), h("span", {}, words));
}
