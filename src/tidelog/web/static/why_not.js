// Why a fact does not hold: a form with suggestions, and for each rule how near it came.

import { AskError } from "./api.js";
import { askWhyNot } from "./calls.js";
import { Details } from "./details.js";
import { counted, fill, h } from "./dom.js";
import { diagnosticList, showError } from "./notices.js";
import { ProofTree } from "./proof_tree.js";
import { address, go } from "./router.js";
import { session } from "./session.js";
import { fieldValues, valueField, writeFact } from "./suggest.js";

/** @typedef {import("../replies.js").NodeReply} TreeNode */
/** @typedef {import("../replies.js").RelationReply} Relation */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showWhyNot(ground, route) {
  const fact = route.query.get("fact") ?? "";
  const answer = h("div", { class: "answer" });
  const words = "name a fact that is missing, and see how near each rule comes to it";
  fill(
    ground,
    h("div", { class: "heading" }, h("h1", {}, "Why not"), h("span", { class: "quiet" }, words)),
    factForm(fact, route.query.get("relation")),
    answer,
  );
  if (!fact) return;
  fill(answer, h("p", { class: "quiet" }, "Looking at the rules …"));
  try {
    const [found, program] = await Promise.all([askWhyNot(fact), session.rules()]);
    fill(answer, found.refutation ? refutationView(found.refutation, program) : holdsView(fact));
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    fill(answer, diagnosticList(error.diagnostics));
  }
}

/** @param {string} fact */
function holdsView(fact) {
  const link = h("a", { class: "button", href: address("why", { fact }) }, "Why does it hold?");
  return h("p", { class: "verdict holds", role: "status" }, h("code", {}, fact), " holds. ", link);
}

/**
 * @param {TreeNode} root
 * @param {import("../replies.js").ProgramReply} program
 */
function refutationView(root, program) {
  const details = new Details(program);
  const tree = new ProofTree({
    root,
    label: "How near each rule comes",
    choose: (node) => details.show(node),
    open: async (node) => (await askWhyNot(node.fact ?? node.text)).refutation ?? { ...node, premises: [] },
  });
  // The nearest miss is what one came for.
  const nearest = tree.element.querySelector("li li[aria-expanded]");
  if (nearest instanceof HTMLElement) {
    tree.expand(nearest).catch(showError);
    tree.select(nearest);
  }
  const misses = (root.premises ?? []).filter((each) => each.premises?.length).length;
  const words = misses > 1 ? `${counted(misses, "near miss", "near misses")}, the nearest first.` : "One near miss.";
  return [
    h(
      "p",
      { class: "verdict", role: "status" },
      h("code", {}, root.text),
      " does not hold. ",
      h("span", { class: "quiet" }, root.note ?? (misses ? words : "No rule comes near it.")),
    ),
    h("div", { class: "proof wide" }, h("div", { class: "scrolls tree-side" }, tree.element), details.element),
  ];
}

/**
 * A relation and a field for each column, or the fact as text; both lead to the same question.
 * @param {string} fact
 * @param {string | null} wanted
 */
function factForm(fact, wanted) {
  const relations = session.about.relations.filter((each) => each.columns.length);
  const name = /^\s*([\w.?]+)\s*\(/.exec(fact)?.[1] ?? wanted;
  const usual = relations.find((each) => each.is_derived) ?? relations[0];
  const chosen = relations.find((each) => each.name === name) ?? usual;
  if (!chosen) return h("p", { class: "quiet" }, "The program has no relation with columns.");
  const list = h(
    "datalist",
    { id: "relation-names" },
    relations.map((each) => h("option", { value: each.name })),
  );
  const plain = { type: "text", class: "mono", autocomplete: "off", spellcheck: "false" };
  const relation = h("input", { ...plain, list: "relation-names", value: chosen.name, id: "why-not-relation" });
  const fields = h("div", { class: "fields" });
  const text = h("input", {
    ...plain,
    value: fact,
    "aria-label": "The fact as text",
    placeholder: `${chosen.name}(…)`,
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
  const drawFields = (/** @type {string[]} */ values = []) =>
    fill(
      fields,
      current.columns.map((_, place) => valueField(current, place, { value: values[place] ?? "" })),
    );
  drawFields(name === chosen.name ? valuesOf(fact, chosen) : []);
  relation.addEventListener("input", () => {
    const next = relations.find((each) => each.name === relation.value);
    if (!next || next === current) return;
    current = next;
    drawFields();
  });
  fields.addEventListener("input", () => {
    text.value = writeFact(current, fieldValues(form));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go("why-not", { fact: text.value.trim() || writeFact(current, fieldValues(form)) });
  });
  return form;
}

/**
 * Return the values of a written fact where they are plain; a form cannot show the others.
 * @param {string} fact
 * @param {Relation} relation
 */
function valuesOf(fact, relation) {
  const inside = /^\s*[\w.?]+\s*\(([\s\S]*)\)\s*\.?\s*$/.exec(fact)?.[1];
  if (inside === undefined) return [];
  const terms = /\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^,"'[\]$()]+)\s*(?:,|$)/g;
  const found = [...inside.matchAll(terms)].map((match) => match[1].trim());
  if (found.length !== relation.columns.length) return [];
  return found.map((text) => (/^["']/.test(text) ? text.slice(1, -1).replace(/\\(["'\\])/g, "$1") : text));
}
