// One relation: its facts, its declaration, and a form to insert a fact.

import { get } from "./api.js";
import { insertForm, stage } from "./changes.js";
import { fill, h, icon } from "./dom.js";
import { inspect } from "./inspector.js";
import { address, go, note } from "./router.js";
import { session } from "./session.js";
import { FactTable } from "./table.js";

export async function showFacts(ground, route) {
  const name = route.parts[0];
  const relation = session.relation(name);
  const mayChange = session.about.may_write && relation?.is_input;
  const table = new FactTable(
    {
      label: `Facts of ${name}`,
      filters: true,
      ask: (parameters, signal) => get(`/api/facts/${encodeURIComponent(name)}`, parameters, signal),
      choose: (row) => inspect(row.fact),
      remove: mayChange ? (row) => row.fact && stage("-", row.fact) : undefined,
      actions: (row) => [
        ["Why", "Why it holds", (_, element) => table.choose(row, element)],
        ...(mayChange && row.fact ? [["Delete", "Stage for deletion", () => stage("-", row.fact)]] : []),
      ],
      note: (state) => note("facts", name, remember(state)),
    },
    recall(route.query),
  );
  await table.load();
  if (!relation) await session.load();
  fill(ground, heading(session.relation(name), mayChange, table), table.element);
}

function heading(relation, mayChange, table) {
  const place = h("div", {});
  const insert = h(
    "button",
    { type: "button", class: "main-button", "aria-expanded": "false" },
    icon("plus"),
    "Insert a fact",
  );
  insert.addEventListener("click", () => {
    const isOpen = insert.getAttribute("aria-expanded") === "true";
    insert.setAttribute("aria-expanded", String(!isOpen));
    fill(place, isOpen ? null : insertForm(relation));
    place.querySelector("input")?.focus();
  });
  const kinds = [
    relation.is_input ? "input" : null,
    relation.is_derived ? "derived" : null,
    relation.is_output ? "output" : null,
    ...relation.qualifiers,
  ];
  return [
    h(
      "div",
      { class: "heading" },
      h("h1", { class: "mono" }, relation.name),
      kinds.filter(Boolean).map((each) => h("span", { class: "badge" }, each)),
      h("div", { class: "spring" }),
      h("a", { class: "button", href: address("rules", { relation: relation.name }) }, icon("page"), "Rules"),
      relation.is_derived
        ? h("button", { type: "button", on: { click: () => go("why-not", { relation: relation.name }) } }, "Why not …")
        : null,
      mayChange ? insert : null,
    ),
    place,
  ];
}

function remember({ offset, limit, sort, filters }) {
  const kept = {
    offset: offset || "",
    limit: limit === 100 ? "" : limit,
    sort: sort.map(([place, down]) => (down ? `-${place}` : place)).join(","),
  };
  for (const [place, text] of Object.entries(filters)) kept[`f${place}`] = text;
  return kept;
}

function recall(query) {
  const state = {};
  if (query.get("offset")) state.offset = Number(query.get("offset")) || 0;
  if (query.get("limit")) state.limit = Number(query.get("limit")) || 100;
  if (query.get("sort"))
    state.sort = query
      .get("sort")
      .split(",")
      .map((part) => [Math.abs(Number(part)), part.startsWith("-")]);
  state.filters = {};
  for (const [name, text] of query) if (/^f\d+$/.test(name)) state.filters[Number(name.slice(1))] = text;
  return state;
}
