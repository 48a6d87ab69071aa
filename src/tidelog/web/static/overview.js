// The first page: every relation at a glance, and what the checks found strange.

import { count, counted, fill, h } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { address } from "./router.js";
import { session } from "./session.js";

export function showOverview(ground) {
  const { relations, title, epoch, warnings } = session.about;
  const total = relations.reduce((sum, each) => sum + each.size, 0);
  const largest = Math.max(1, ...relations.map((each) => each.size));
  const derived = relations.filter((each) => each.is_derived);
  fill(
    ground,
    h("div", { class: "heading" }, h("h1", {}, title)),
    h(
      "div",
      { class: "cards" },
      card(count(relations.length), "relations"),
      card(count(derived.length), "derived by rules"),
      card(count(total), "facts"),
      card(epoch, "present epoch"),
    ),
    warnings.length ? [h("h2", {}, counted(warnings.length, "warning")), diagnosticList(warnings)] : null,
    h(
      "div",
      { class: "frame whole" },
      h(
        "table",
        { "aria-label": "Relations" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Relation", "Columns", "Kind"].map((each) => h("th", { scope: "col" }, each)),
            h("th", { scope: "col", class: "number" }, "Facts"),
            h("th", { class: "share" }, h("span", { class: "unseen" }, "Share")),
          ),
        ),
        h(
          "tbody",
          {},
          relations.map((each) =>
            h(
              "tr",
              {},
              h("td", {}, h("a", { href: address("facts", each.name), class: "mono" }, each.name)),
              h(
                "td",
                { class: "mono columns" },
                each.columns.map((column, place) => [
                  place ? ", " : null,
                  column.name,
                  h("span", { class: "quiet" }, `: ${column.type}`),
                ]),
              ),
              h("td", { class: "quiet" }, kind(each)),
              h("td", { class: "number" }, count(each.size)),
              h(
                "td",
                { class: "share" },
                h("meter", { min: 0, max: Math.log1p(largest), value: Math.log1p(each.size), "aria-hidden": "true" }),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function kind(relation) {
  return [
    relation.is_input ? "input" : null,
    relation.is_derived ? "derived" : null,
    relation.is_output ? "output" : null,
    ...relation.qualifiers,
  ]
    .filter(Boolean)
    .join(", ");
}

function card(value, words) {
  return h("div", { class: "card" }, h("strong", {}, value), h("span", {}, words));
}
