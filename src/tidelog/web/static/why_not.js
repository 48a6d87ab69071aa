// Why a fact does not hold: a form with suggestions, and for each rule how near it came.

import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { ProofTree } from "./proof_tree.js";
import { Details } from "./proof_view.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { fieldValues, valueField, writeFact } from "./suggest.js";

export async function showWhyNot(ground, route) {
  const fact = route.query.get("fact") ?? "";
  const answer = h("div", { class: "answer" });
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Why not"),
      h("span", { class: "quiet" }, "name a fact that is missing, and see how near each rule comes to it"),
    ),
    factForm(fact, route.query.get("relation")),
    answer,
  );
  if (!fact) return;
  fill(answer, h("p", { class: "quiet" }, "Looking at the rules …"));
  try {
    const [found, program] = await Promise.all([post("/api/why-not", { fact, depth: 2 }), session.rules()]);
    fill(answer, refutationView(found, program));
  } catch (error) {
    if (!error.diagnostics) throw error;
    fill(
      answer,
      diagnosticList(error.diagnostics),
      h("button", { type: "button", on: { click: () => go("why", { fact }) } }, "Why does it hold?"),
    );
  }
}

function refutationView(found, program) {
  const details = new Details(program);
  const { premises, note } = found.refutation;
  const tree = new ProofTree({
    root: found.refutation,
    label: "How near each rule comes",
    choose: (node) => details.show(node),
    open: async (node) => (await post("/api/why-not", { fact: node.fact, depth: 2 })).refutation,
  });
  // The nearest miss is what one came for.
  const nearest = tree.element.querySelector("li li[aria-expanded]");
  if (nearest) {
    tree.expand(nearest);
    tree.select(nearest);
  }
  const misses = premises.filter((each) => each.premises.length).length;
  return [
    h(
      "p",
      { class: "verdict" },
      h("code", {}, found.refutation.text),
      " does not hold. ",
      h(
        "span",
        { class: "quiet" },
        note ?? (misses === 1 ? "One near miss." : `${misses} near misses, the nearest first.`),
      ),
    ),
    h("div", { class: "proof wide" }, h("div", { class: "scrolls tree-side" }, tree.element), details.element),
  ];
}

// A relation and a field for each column, or the fact as text; both lead to the same question.
function factForm(fact, wanted) {
  const relations = session.about.relations.filter((each) => each.columns.length);
  const name = /^\s*([\w.?]+)\s*\(/.exec(fact)?.[1] ?? wanted;
  const chosen =
    relations.find((each) => each.name === name) ?? relations.find((each) => each.is_derived) ?? relations[0];
  if (!chosen) return h("p", { class: "quiet" }, "The program has no relation with columns.");
  const list = h(
    "datalist",
    { id: "relation-names" },
    relations.map((each) => h("option", { value: each.name })),
  );
  const relation = h("input", {
    type: "text",
    list: "relation-names",
    value: chosen.name,
    "aria-label": "Relation",
    class: "mono",
    autocomplete: "off",
    spellcheck: "false",
    id: "why-not-relation",
  });
  const fields = h("div", { class: "fields" });
  const text = h("input", {
    type: "text",
    class: "mono",
    value: fact,
    "aria-label": "The fact as text",
    placeholder: `${chosen.name}(…)`,
    spellcheck: "false",
    autocomplete: "off",
  });
  const form = h(
    "form",
    { class: "why-not" },
    h(
      "div",
      { class: "build" },
      h("label", { class: "field" }, h("span", {}, "relation"), relation, list),
      fields,
      h("button", { type: "submit", class: "main-button" }, "Ask"),
    ),
    h("div", { class: "or" }, h("span", { class: "quiet" }, "or as text"), text),
  );
  let current = chosen;
  const drawFields = (values = []) =>
    fill(
      fields,
      current.columns.map((_, place) => valueField(current, place, { value: values[place] ?? "" })),
    );
  drawFields(name === chosen.name ? valuesOf(fact, chosen) : []);
  relation.addEventListener("input", () => {
    const next = relations.find((each) => each.name === relation.value);
    if (next && next !== current) {
      current = next;
      drawFields();
    }
  });
  fields.addEventListener("input", () => {
    text.value = writeFact(current, fieldValues(form));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = text.value.trim() || writeFact(current, fieldValues(form));
    go("why-not", { fact: asked });
  });
  return form;
}

// Return the values of a written fact where they are plain; a form cannot show the others.
function valuesOf(fact, relation) {
  const inside = /^\s*[\w.?]+\s*\(([\s\S]*)\)\s*\.?\s*$/.exec(fact)?.[1];
  if (inside === undefined) return [];
  const found = [...inside.matchAll(/\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^,"'[\]$()]+)\s*(?:,|$)/g)].map((match) =>
    match[1].trim(),
  );
  if (found.length !== relation.columns.length) return [];
  return found.map((text) => (/^["']/.test(text) ? text.slice(1, -1).replace(/\\(["'\\])/g, "$1") : text));
}
