// Epochs: the timeline, what each of them changed and decided, and two of them side by side.

import { askEpoch, askEpochs } from "./calls.js";
import { takeBack } from "./changes.js";
import { compareEpochs } from "./compare.js";
import { deltaView } from "./delta_view.js";
import { count, counted, duration, fill, h, icon, signed } from "./dom.js";
import { showError } from "./notices.js";
import { address, note } from "./router.js";
import { session } from "./session.js";
import { timeline } from "./timeline.js";

/** @typedef {import("../replies.js").EpochReply} Epoch */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 * @param {() => Promise<void>} redraw
 */
export async function showEpochs(ground, route, redraw) {
  const { epochs, epoch: present } = await askEpochs();
  if (!epochs.length) {
    const words =
      present === 0
        ? "nothing has changed since the program was evaluated."
        : "the store was written as a whole since.";
    fill(
      ground,
      h("div", { class: "heading" }, h("h1", {}, "Epochs")),
      h("p", { class: "quiet" }, `This is epoch ${present}, and no delta is remembered: ${words}`),
    );
    return;
  }
  const wanted = Number(route.parts[0] ?? epochs.at(-1)?.epoch);
  const detail = h("div", { class: "epoch" });
  const bars = timeline(epochs, wanted, (number) => {
    note("epochs", String(number));
    showEpoch(detail, number, null, redraw).catch(showError);
  });
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Epochs"),
      h("span", { class: "quiet" }, `${epochs[0].epoch} to ${present}; epoch 0 evaluated the program`),
    ),
    bars.element,
    detail,
    epochs.length > 1 ? compareEpochs(epochs, wanted) : null,
  );
  bars.list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "center" });
  await showEpoch(detail, wanted, route.parts[1] ?? null, redraw);
}

/**
 * @param {HTMLElement} detail
 * @param {number} number
 * @param {string | null} relation
 * @param {() => Promise<void>} redraw
 */
async function showEpoch(detail, number, relation, redraw) {
  const epoch = await askEpoch(number);
  const view = deltaView(epoch, relation, (name) => note("epochs", String(number), name));
  const mayTakeBack =
    session.about.may_write && (epoch.changes.length || epoch.rules_inserted.length || epoch.rules_deleted.length);
  const undo = () => takeBack(number, redraw).catch(showError);
  fill(
    detail,
    h(
      "div",
      { class: "cards" },
      card(`Epoch ${epoch.epoch}`, duration(epoch.seconds)),
      card(signed(epoch.inserted, "+"), epoch.inserted === 1 ? "fact inserted" : "facts inserted", "plus"),
      card(signed(epoch.deleted, "−"), epoch.deleted === 1 ? "fact deleted" : "facts deleted", "minus"),
      card(count(epoch.impact), "impact: changed by rules"),
      h("div", { class: "spring" }),
      epoch.relations.length
        ? h("a", { class: "button", href: address("blame", { epoch: number }) }, "Blame and repair")
        : null,
      mayTakeBack ? h("button", { type: "button", on: { click: undo } }, icon("undo"), "Take back") : null,
    ),
    epoch.violations.map((each) => violation(each, number)),
    view.element,
    decisions(epoch),
  );
  await view.ready;
}

/**
 * A guard that the epoch broke, and the way to what is to blame.
 * @param {Epoch["violations"][number]} violation
 * @param {number} epoch
 */
function violation({ guard, facts, is_always }, epoch) {
  const faults = facts.join("\n");
  const some = `${facts.slice(0, 5).join(", ")}${facts.length > 5 ? " …" : ""}`;
  return h(
    "div",
    { class: "diagnostics", role: "alert" },
    h(
      "ul",
      {},
      h(
        "li",
        {},
        h("span", { class: "message" }, "Guard broken: ", h("code", {}, guard)),
        h("span", { class: "hint" }, `${some} ${is_always ? "vanished" : "appeared"}`),
        h(
          "a",
          { href: address("blame", is_always ? { epoch, missing: faults } : { epoch, unwanted: faults }) },
          "Blame and repair",
        ),
      ),
    ),
  );
}

/** What the epoch decided for each stratum. @param {Epoch} epoch */
function decisions(epoch) {
  const worked = epoch.strata.filter((each) => each.action !== "skipped");
  const skipped = epoch.strata.length - worked.length;
  const head = (/** @type {string} */ words, /** @type {string | null} */ kind = null) =>
    h("th", { scope: "col", class: kind }, words);
  const row = (/** @type {Epoch["strata"][number]} */ each) =>
    h(
      "tr",
      {},
      h("td", { class: "mono" }, each.relations.join(", ")),
      h("td", {}, each.action),
      h("td", {}, each.strategy),
      h("td", { class: "quiet" }, each.reason),
      h("td", { class: "number" }, count(each.work)),
      h("td", { class: "number" }, duration(each.seconds)),
    );
  return h(
    "details",
    { class: "strata" },
    h(
      "summary",
      {},
      `What was decided: ${counted(worked.length, "stratum", "strata")} updated, ${count(skipped)} skipped`,
    ),
    h(
      "div",
      { class: "frame whole", tabindex: 0, role: "group", "aria-label": "What was decided" },
      h(
        "table",
        { "aria-label": "Strata" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Relations", "Action", "Strategy", "Why"].map((each) => head(each)),
            head("Work", "number"),
            head("Time", "number"),
          ),
        ),
        h("tbody", {}, worked.map(row)),
      ),
    ),
  );
}

/**
 * @param {string} value
 * @param {string} words
 */
function card(value, words, kind = "") {
  return h("div", { class: `card ${value === "0" ? "" : kind}` }, h("strong", {}, value), h("span", {}, words));
}
