// Ask: a query with completion, and its answer as a table that sorts, filters, pages and explains.

import { AskError } from "./api.js";
import { askQuery, download } from "./calls.js";
import { completes } from "./completion.js";
import { cut, fill, h } from "./dom.js";
import { inspect } from "./inspector.js";
import { diagnosticList } from "./notices.js";
import { address, go, note } from "./router.js";
import { session } from "./session.js";
import { FactTable } from "./table.js";
import { recall, remember } from "./table_state.js";

/** @typedef {import("../replies.js").RowReply} Row */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showQuery(ground, route) {
  const asked = route.query.get("q") ?? "";
  const field = h("input", {
    type: "text",
    id: "query",
    class: "mono",
    value: asked,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: example(),
    "aria-label": "Query",
  });
  const form = h(
    "form",
    { class: "ask" },
    h("h1", {}, "Query"),
    h("div", { class: "ask-field" }, field, completes(field)),
    h("button", { type: "submit", class: "main-button" }, "Ask"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() === asked) window.dispatchEvent(new HashChangeEvent("hashchange"));
    else go("query", { q: field.value.trim() });
  });
  const answer = h("div", { class: "content" });
  fill(ground, form, answer);
  if (!asked) {
    fill(
      answer,
      h(
        "p",
        { class: "quiet" },
        "Ask for example ",
        examples().map((each) => [link(each), " "]),
      ),
    );
    field.focus();
    return;
  }
  await showAnswer(answer, asked, route);
}

/**
 * @param {HTMLElement} place
 * @param {string} asked
 * @param {import("./router.js").Route} route
 */
async function showAnswer(place, asked, route) {
  /** @type {FactTable} */
  const table = new FactTable(
    {
      label: `Answer to ${cut(asked, 100)}`,
      noun: "answer",
      filters: true,
      ask: (parameters, signal) => askQuery(asked, parameters, signal),
      file: (form, parameters) => download("query", form, { ...parameters, q: asked }),
      choose: (row) => explain(row, 0),
      actions: (row) =>
        (row.facts ?? []).slice(0, 4).map((fact, number) => [
          row.facts?.length === 1 ? "Why" : `Why ${/^[^(]*/.exec(fact)?.[0]}`,
          `Why ${cut(fact, 100)} holds`,
          (_, element) => {
            table.stand(element);
            explain(row, number);
          },
        ]),
      note: (state) => note("query", { q: asked, ...remember(state) }),
    },
    recall(route.query),
  );
  try {
    await table.load();
    fill(place, table.element);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    fill(place, diagnosticList(error.diagnostics));
  }
}

/**
 * @param {Row} row
 * @param {number} number
 */
function explain(row, number) {
  const fact = row.facts?.[number];
  if (fact) inspect(fact);
}

function examples() {
  const some = session.about.relations.filter((each) => each.columns.length && each.size);
  const chosen = [some.find((each) => each.is_derived), some[0]].filter((each) => each !== undefined);
  return [...new Set(chosen.map((each) => `${each.name}(${each.columns.map((column) => column.name).join(", ")})`))];
}

function example() {
  return examples()[0] ?? "path(1, x), x > 3";
}

/** @param {string} text */
function link(text) {
  return h("a", { class: "mono", href: address("query", { q: text }) }, text);
}
