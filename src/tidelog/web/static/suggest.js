// Fields for the values of a fact, with the values that the column has offered while one types.

import { get, isAbort } from "./api.js";
import { fill, h, later } from "./dom.js";

let made = 0;

// Return a labelled field for one column; the label holds the field.
export function valueField(relation, place, { value = "", optional = false } = {}) {
  const column = relation.columns[place];
  const list = h("datalist", { id: `values-${(made += 1)}` });
  const input = h("input", {
    type: "text",
    list: list.id,
    autocomplete: "off",
    spellcheck: "false",
    value,
    name: `value-${place}`,
    placeholder: optional ? "any" : column.type,
  });
  let running = null;
  const offer = later(150, async () => {
    running?.abort();
    running = new AbortController();
    try {
      const path = `/api/values/${encodeURIComponent(relation.name)}/${place}`;
      const { values } = await get(path, { typed: input.value }, running.signal);
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

export function fieldValues(form) {
  return [...form.querySelectorAll("input[name^=value-]")].map((input) => input.value);
}

const ESCAPES = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// Return a fact as it is written in a program; symbols get their quotes here.
export function writeFact(relation, values) {
  const terms = values.map((text, place) =>
    relation.columns[place].kind === "symbol"
      ? `"${text.replace(/[\\"\n\r\t]/g, (each) => ESCAPES[each])}"`
      : text.trim(),
  );
  return `${relation.name}(${terms.join(", ")})`;
}
