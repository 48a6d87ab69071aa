// What an epoch changed, or would change: its relations at the left, the facts of one of them at the right.

import { askDelta, download } from "./calls.js";
import { count, fill, h } from "./dom.js";
import { inspect } from "./inspector.js";
import { showError } from "./notices.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { coloured } from "./source.js";
import { FactTable } from "./table.js";

/** @typedef {import("../replies.js").EpochReply} Epoch */

/**
 * Return the view of a delta, and when its first relation is shown; `choose` hears of the relation.
 * @param {Epoch} epoch
 * @param {string | null} wanted
 * @param {(relation: string) => void} choose
 */
export function deltaView(epoch, wanted, choose) {
  const place = h("div", { class: "delta" });
  const show = (/** @type {string} */ name) => {
    for (const each of list.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
    list.querySelector(`[data-name="${CSS.escape(name)}"]`)?.setAttribute("aria-current", "true");
    choose(name);
    return showDelta(place, epoch, name);
  };
  const list = h(
    "div",
    { class: "changed", role: "group", "aria-label": "Relations that changed" },
    epoch.relations.map((each) => relationButton(each, () => show(each.name).catch(showError))),
  );
  const { relations } = epoch;
  const first =
    relations.find((each) => each.name === wanted) ?? relations.find((each) => each.is_derived) ?? relations[0];
  const element = h(
    "div",
    {},
    // A trial stands below the staged rules themselves.
    epoch.trial === undefined ? ruleChanges(epoch) : null,
    first ? h("div", { class: "split narrow" }, list, place) : h("p", { class: "quiet" }, "No fact changes."),
  );
  return { element, ready: first ? show(first.name) : Promise.resolve() };
}

/**
 * @param {Epoch["relations"][number]} each
 * @param {() => void} click
 */
function relationButton(each, click) {
  return h(
    "button",
    { type: "button", class: "changed-relation", data: { name: each.name }, on: { click } },
    h("span", { class: "mono" }, each.name),
    each.is_derived ? null : h("span", { class: "badge" }, "input"),
    h("span", { class: "spring" }),
    each.inserted ? h("span", { class: "plus" }, `+${count(each.inserted)}`) : null,
    each.deleted ? h("span", { class: "minus" }, `−${count(each.deleted)}`) : null,
  );
}

/** @param {Epoch} epoch */
function ruleChanges(epoch) {
  const line = (/** @type {string} */ sign, /** @type {string} */ kind) => (/** @type {string} */ text) =>
    h("li", { class: kind }, h("span", { class: "sign" }, sign), h("code", {}, coloured(text)));
  const lines = [...epoch.rules_deleted.map(line("−", "minus")), ...epoch.rules_inserted.map(line("+", "plus"))];
  return lines.length ? h("ul", { class: "script rule-changes", "aria-label": "Rules that changed" }, lines) : null;
}

/**
 * @param {HTMLElement} place
 * @param {Epoch} epoch
 * @param {string} name
 */
async function showDelta(place, epoch, name) {
  const sides = epoch.relations.find((each) => each.name === name);
  const tables = [];
  if (sides?.deleted) tables.push(deltaTable(epoch, name, "deleted"));
  if (sides?.inserted) tables.push(deltaTable(epoch, name, "inserted"));
  await Promise.all(tables.map((table) => table.load()));
  fill(
    place,
    tables.map((table) => {
      const isPlus = table.options.sign === "+";
      return [h("h2", { class: isPlus ? "plus" : "minus" }, isPlus ? "Inserted" : "Deleted"), table.element];
    }),
  );
}

/**
 * @param {Epoch} epoch
 * @param {string} name
 * @param {"inserted" | "deleted"} side
 */
function deltaTable(epoch, name, side) {
  const isInserted = side === "inserted";
  const isTrial = epoch.trial !== undefined;
  const isPresent = epoch.epoch === session.about.epoch;
  const blame = (/** @type {{ fact: string | null }} */ { fact }) =>
    go("blame", isInserted ? { epoch: epoch.epoch, unwanted: fact } : { epoch: epoch.epoch, missing: fact });
  const holds = isPresent ? "Why it holds" : "Why it holds, if it still does";
  /** @type {FactTable} */
  const table = new FactTable({
    label: `${name}: ${side}`,
    sign: isInserted ? "+" : "-",
    ask: (parameters, signal) => askDelta(epoch, name, { ...parameters, side }, signal),
    file: isTrial
      ? undefined
      : (form, parameters) =>
          download(`epochs/${epoch.epoch}/${encodeURIComponent(name)}`, form, { ...parameters, side }),
    choose: ({ fact }) => {
      if (isTrial || !fact) return;
      if (isInserted) inspect(fact);
      else go("why-not", { fact });
    },
    actions: (row) =>
      row.fact && !isTrial
        ? [
            [
              isInserted ? "Why" : "Why not",
              isInserted ? holds : "Why it does not hold",
              (_, element) => table.choose(row, element),
            ],
            ["Blame", isInserted ? "Which changes brought it" : "Which changes took it away", blame],
          ]
        : [],
  });
  return table;
}
