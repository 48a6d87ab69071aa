// One relation: its facts, the way to its rules, and a form to insert facts.

import { askFacts, download } from "./calls.js";
import { fill, h, icon } from "./dom.js";
import { insertForm } from "./insert.js";
import { inspect } from "./inspector.js";
import { whenLive } from "./live.js";
import { showError } from "./notices.js";
import { address, go, note } from "./router.js";
import { session } from "./session.js";
import { stage } from "./staged.js";
import { FactTable } from "./table.js";
import { recall, remember } from "./table_state.js";

/** @typedef {import("../replies.js").RelationReply} Relation */
/** @typedef {import("../replies.js").RowReply} Row */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showFacts(ground, route) {
  const name = route.parts[0];
  const remove = (/** @type {Row} */ row) => {
    if (row.fact && row.is_deletable) stage("-", row.fact);
  };
  /** @type {FactTable} */
  const table = new FactTable(
    {
      label: `Facts of ${name}`,
      filters: true,
      ask: (parameters, signal) => askFacts(name, parameters, signal),
      file: (form, parameters) => download(`facts/${encodeURIComponent(name)}`, form, parameters),
      choose: (row) => row.fact && inspect(row.fact),
      remove,
      actions: (row) => [
        ["Why", "Why it holds", (_, element) => table.choose(row, element)],
        ...deleteAction(row, remove),
      ],
      note: (state) => note("facts", name, remember(state)),
    },
    recall(route.query),
  );
  await table.load();
  if (!session.relation(name)) await session.load();
  const relation = session.relation(name);
  fill(ground, relation ? heading(relation) : h("h1", { class: "mono" }, name), table.element);
  // The facts of another epoch take the place of these; page, order and filters stay.
  whenLive(table.element, () => {
    table.load().catch(showError);
  });
}

/**
 * Facts that stand in the program's text are not deleted as facts.
 * @param {Row} row
 * @param {(row: Row) => void} remove
 * @returns {import("./table.js").Action[]}
 */
function deleteAction(row, remove) {
  return row.fact && row.is_deletable ? [["Delete", "Stage for deletion", remove]] : [];
}

/** @param {Relation} relation */
function heading(relation) {
  const place = h("div", {});
  const insert = h(
    "button",
    { type: "button", class: "main-button", "aria-expanded": "false" },
    icon("plus"),
    "Insert facts",
  );
  insert.addEventListener("click", () => {
    const isOpen = insert.getAttribute("aria-expanded") === "true";
    insert.setAttribute("aria-expanded", String(!isOpen));
    fill(place, isOpen ? null : insertForm(relation));
    place.querySelector("input")?.focus();
  });
  const query = `${relation.name}(${relation.columns.map((each) => each.name).join(", ")})`;
  const whyNot = () => go("why-not", { relation: relation.name });
  return [
    h(
      "div",
      { class: "heading" },
      h("h1", { class: "mono" }, relation.name),
      kinds(relation).map((each) => h("span", { class: "badge" }, each)),
      h("div", { class: "spring" }),
      h("a", { class: "button", href: address("query", { q: query }) }, icon("search"), "Query"),
      h("a", { class: "button", href: address("rules", { relation: relation.name }) }, icon("page"), "Rules"),
      relation.is_derived ? h("button", { type: "button", on: { click: whyNot } }, "Why not …") : null,
      session.about.may_write && relation.is_input ? insert : null,
    ),
    place,
  ];
}

/** What a relation is, in words. @param {Relation} relation */
export function kinds(relation) {
  return [
    relation.is_input ? "input" : "",
    relation.is_derived ? "derived" : "",
    relation.is_output ? "output" : "",
    ...relation.qualifiers,
  ].filter(Boolean);
}
