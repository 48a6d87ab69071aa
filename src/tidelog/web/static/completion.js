// Words offered while a query is typed: relations, the query's own variables, values of the column one stands in.

import { isAbort } from "./api.js";
import { askValues } from "./calls.js";
import { fill, h, later } from "./dom.js";
import { showError } from "./notices.js";
import { session } from "./session.js";

/** @typedef {{ text: string, kind: string }} Offer */
/** @typedef {{ word: string, start: number, relation: string | null, column: number }} Spot */

const MOST = 12;

/**
 * Let a field offer words: the pattern of an ARIA combobox with a list.
 * @param {HTMLInputElement} field
 */
export function completes(field) {
  const list = h("ul", {
    class: "offers",
    role: "listbox",
    id: `${field.id}-offers`,
    "aria-label": "Suggestions",
    hidden: true,
  });
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-expanded", "false");
  field.setAttribute("aria-controls", list.id);
  /** @type {Offer[]} */
  let offers = [];
  let chosen = -1;
  /** @type {AbortController | null} */
  let running = null;

  const close = () => {
    offers = [];
    chosen = -1;
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const take = (/** @type {Offer} */ offer) => {
    const { start } = spotIn(field.value, caret(field));
    field.setRangeText(offer.text, start, caret(field), "end");
    close();
    field.focus();
    // After the name of a relation come its columns.
    if (offer.kind === "relation") suggest();
  };
  const choose = (/** @type {number} */ place) => {
    chosen = place;
    [...list.children].forEach((each, at) => {
      each.setAttribute("aria-selected", String(at === place));
    });
    const found = list.children[place];
    if (!found) return;
    field.setAttribute("aria-activedescendant", found.id);
    found.scrollIntoView({ block: "nearest" });
  };
  const show = () => {
    fill(
      list,
      offers.map((each, place) => {
        const item = h(
          "li",
          { role: "option", id: `${list.id}-${place}`, "aria-selected": "false" },
          h("code", {}, each.text),
          h("small", {}, each.kind),
        );
        // Before the field loses its focus.
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          take(each);
        });
        return item;
      }),
    );
    list.hidden = offers.length === 0;
    field.setAttribute("aria-expanded", String(offers.length > 0));
    chosen = -1;
  };
  const suggest = later(120, async () => {
    running?.abort();
    running = new AbortController();
    try {
      offers = await offersAt(field.value, caret(field), running.signal);
      if (document.activeElement === field) show();
    } catch (error) {
      if (!isAbort(error)) showError(error);
    }
  });
  field.addEventListener("input", () => suggest());
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    if (list.hidden) return;
    if (key === "ArrowDown") choose((chosen + 1) % offers.length);
    else if (key === "ArrowUp") choose((chosen - 1 + offers.length) % offers.length);
    else if (key === "Tab" && offers.length) take(offers[Math.max(chosen, 0)]);
    else if (key === "Enter" && chosen >= 0) take(offers[chosen]);
    else if (key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  return list;
}

/** @param {HTMLInputElement} field */
function caret(field) {
  return field.selectionStart ?? field.value.length;
}

/**
 * Return the word before the caret, and the relation and column it stands in.
 * @param {string} text
 * @param {number} end
 * @returns {Spot}
 */
export function spotIn(text, end) {
  const before = text.slice(0, end);
  const word = /(?:"(?:\\.|[^"\\])*|[\w.?]*)$/.exec(before)?.[0] ?? "";
  const start = end - word.length;
  /** @type {{ relation: string | null, column: number }[]} */
  const open = [];
  for (const [token] of before.slice(0, start).matchAll(/"(?:\\.|[^"\\])*"|([\w.?]+)\s*\(|[([\])},]/g)) {
    if (token === ")" || token === "]") open.pop();
    else if (token === ",") {
      const inner = open.at(-1);
      if (inner) inner.column += 1;
    } else if (/[([]$/.test(token)) open.push({ relation: /^([\w.?]+)\s*\(/.exec(token)?.[1] ?? null, column: 0 });
  }
  return { word, start, relation: open.at(-1)?.relation ?? null, column: open.at(-1)?.column ?? 0 };
}

/**
 * @param {string} text
 * @param {number} end
 * @param {AbortSignal} signal
 * @returns {Promise<Offer[]>}
 */
async function offersAt(text, end, signal) {
  const { word, relation, column } = spotIn(text, end);
  const found = session.about.relations.find((each) => each.name === relation);
  if (!relation) return word ? relations(word) : [];
  const of = found?.columns[column];
  if (!found || !of) return [];
  const own = variables(text, word, of.name);
  const typed = word.replace(/^"/, "");
  const { values } = await askValues(found.name, column, typed, signal);
  const isSymbol = of.kind === "symbol";
  const known = values
    .slice(0, MOST)
    .map((value) => ({ text: isSymbol ? JSON.stringify(value) : value, kind: of.type }));
  return [...(word.startsWith('"') ? [] : own), ...known].slice(0, MOST);
}

/** @param {string} word */
function relations(word) {
  const low = word.toLowerCase();
  const fits = session.about.relations.filter((each) => each.name.toLowerCase().includes(low));
  fits.sort(
    (one, other) => Number(other.name.toLowerCase().startsWith(low)) - Number(one.name.toLowerCase().startsWith(low)),
  );
  return fits.slice(0, MOST).map((each) => ({ text: `${each.name}(`, kind: "relation" }));
}

/**
 * @param {string} text
 * @param {string} word
 * @param {string} column
 */
function variables(text, word, column) {
  const used = [...text.replace(/"(?:\\.|[^"\\])*"?/g, "").matchAll(/(?<![\w.?])([A-Za-z_?][\w?]*)(?!\s*\(|[\w?])/g)];
  const names = new Set([...used.map((match) => match[1]), column]);
  names.delete(word);
  names.delete("_");
  return [...names]
    .filter((each) => each.startsWith(word))
    .slice(0, 5)
    .map((each) => ({ text: each, kind: "variable" }));
}
