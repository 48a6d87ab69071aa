// Fields for the values of a fact, with the values that the column has offered while one types.

import { isAbort } from "./api.js";
import { askValues } from "./calls.js";
import { fill, h, later } from "./dom.js";

let made = 0;

/** @typedef {import("../replies.js").RelationReply} Relation */

/**
 * Return a labelled field for one column; the label holds the field.
 * @param {Relation} relation
 * @param {number} place
 * @param {{ value?: string }} options
 */
export function valueField(relation, place, { value = "" } = {}) {
  const column = relation.columns[place];
  made += 1;
  const list = h("datalist", { id: `values-${made}` });
  const input = h("input", {
    type: "text",
    list: list.id,
    autocomplete: "off",
    spellcheck: "false",
    value,
    name: `value-${place}`,
    placeholder: column.type,
  });
  /** @type {AbortController | null} */
  let running = null;
  const offer = later(150, async () => {
    running?.abort();
    running = new AbortController();
    try {
      const { values } = await askValues(relation.name, place, input.value, running.signal);
      fill(
        list,
        values.map((each) => h("option", { value: each })),
      );
    } catch (error) {
      // Suggestions are a help and no more: without them one types the value.
      if (!isAbort(error)) fill(list);
    }
  });
  input.addEventListener("input", offer);
  input.addEventListener("focus", offer);
  return h(
    "label",
    { class: "field" },
    h("span", {}, h("span", { class: "mono" }, column.name), " ", h("span", { class: "quiet" }, column.type)),
    input,
    list,
  );
}

/** @param {HTMLElement} form @returns {string[]} */
export function fieldValues(form) {
  const fields = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input[name^=value-]"));
  return [...fields].map((input) => input.value);
}

/** @type {Record<string, string>} */
const ESCAPES = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Return a fact as it is written in a program; symbols get their quotes here.
 * @param {Relation} relation
 * @param {string[]} values
 */
export function writeFact(relation, values) {
  const terms = values.map((text, place) =>
    relation.columns[place].kind === "symbol"
      ? `"${text.replace(/[\\"\n\r\t]/g, (each) => ESCAPES[each])}"`
      : text.trim(),
  );
  return `${relation.name}(${terms.join(", ")})`;
}
