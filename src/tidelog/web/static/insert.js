// A form that stages facts: one by one, or rows pasted from a spreadsheet.

import { plain } from "./api.js";
import { counted, h, icon } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { readRows } from "./pasted.js";
import { stage, stageAll } from "./staged.js";
import { fieldValues, valueField, writeFact } from "./suggest.js";

/** @typedef {import("../replies.js").RelationReply} Relation */

/** Return a form that stages facts of a relation. @param {Relation} relation */
export function insertForm(relation) {
  const form = h(
    "form",
    { class: "insert", "aria-label": `Insert facts into ${relation.name}` },
    h(
      "div",
      { class: "fields" },
      relation.columns.map((_, place) => valueField(relation, place)),
    ),
    h("button", { type: "submit" }, icon("plus"), "Stage"),
    h("p", { class: "quiet whole-line" }, "Rows copied from a spreadsheet can be pasted into the first field."),
  );
  const told = h("div", { class: "whole-line", role: "status" });
  form.append(told);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = fieldValues(form);
    stage("+", writeFact(relation, values), { relation: relation.name, values });
    form.reset();
    form.querySelector("input")?.focus();
  });
  form.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!/[\t\n]/.test(text.trimEnd())) return;
    event.preventDefault();
    told.replaceChildren(stageRows(relation, text));
  });
  return form;
}

/**
 * Stage rows of text, and return what came of it.
 * @param {Relation} relation
 * @param {string} text
 */
function stageRows(relation, text) {
  const { rows, hasHead } = readRows(text, relation);
  const width = relation.columns.length;
  const wrong = rows.findIndex((row) => row.length !== width);
  if (wrong >= 0) {
    const line = wrong + (hasHead ? 2 : 1);
    const [found, wanted] = [counted(rows[wrong].length, "cell"), counted(width, "column")];
    const message = `row ${line} has ${found}, and ${relation.name} has ${wanted}`;
    return diagnosticList([plain("wrong-arity", message, "nothing was staged")]);
  }
  stageAll(
    rows.map((values) => ({ sign: "+", text: writeFact(relation, values), fact: { relation: relation.name, values } })),
  );
  const head = hasHead ? "; the first row names the columns" : "";
  return h("p", { class: "plus" }, `${counted(rows.length, "row")} staged${head}.`);
}
