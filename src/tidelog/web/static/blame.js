// Which changes caused a fault, and the fewest to take back.

import { AskError } from "./api.js";
import { askBlame, askRepair } from "./calls.js";
import { counted, duration, fill, h, icon } from "./dom.js";
import { diagnosticList, showError } from "./notices.js";
import { ProofTree } from "./proof_tree.js";
import { address, go } from "./router.js";
import { session } from "./session.js";
import { coloured } from "./source.js";
import { stage } from "./staged.js";

/** @typedef {{ unwanted: string[], missing: string[] }} Faults */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showBlame(ground, route) {
  const faults = {
    unwanted: route.query.getAll("unwanted").flatMap(lines),
    missing: route.query.getAll("missing").flatMap(lines),
  };
  const epoch = Number(route.query.get("epoch")) || session.about.epoch;
  const answer = h("div", { class: "answers" });
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Blame and repair"),
      h("span", { class: "quiet" }, "which changes of "),
      h("a", { href: address("epochs", String(epoch)) }, `epoch ${epoch}`),
      h("span", { class: "quiet" }, " are responsible, and what to take back"),
    ),
    faultForm(epoch, faults),
    answer,
  );
  if (!faults.unwanted.length && !faults.missing.length) return;
  const blamed = h(
    "section",
    { class: "panel", "aria-label": "Blame" },
    h("h2", {}, "Blame"),
    h("p", { class: "quiet" }, "Looking for the changes …"),
  );
  const repaired = h(
    "section",
    { class: "panel", "aria-label": "Repair" },
    h("h2", {}, "Repair"),
    h("p", { class: "quiet" }, "Looking for the fewest changes …"),
  );
  fill(answer, blamed, repaired);
  await Promise.all([showBlamed(blamed, epoch, faults), showRepair(repaired, epoch, faults, [])]);
}

/** @param {string} text */
function lines(text) {
  return text
    .split("\n")
    .map((each) => each.trim().replace(/\.$/, ""))
    .filter(Boolean);
}

/**
 * @param {number} epoch
 * @param {Faults} faults
 */
function faultForm(epoch, faults) {
  const area = (/** @type {string} */ name, /** @type {string} */ words, /** @type {string[]} */ found) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, words),
      h("textarea", {
        name,
        rows: Math.max(2, found.length),
        class: "mono",
        spellcheck: "false",
        placeholder: "one fact to a line; a variable stands for any value",
        value: found.join("\n"),
      }),
    );
  const number = h("input", { type: "number", name: "epoch", min: 1, max: session.about.epoch, value: epoch });
  const form = h(
    "form",
    { class: "insert" },
    h(
      "div",
      { class: "fields" },
      area("unwanted", "Facts that should not be there", faults.unwanted),
      area("missing", "Facts that should be there", faults.missing),
      h("label", { class: "field narrow" }, h("span", {}, "Epoch"), number),
    ),
    h("button", { type: "submit", class: "main-button" }, "Ask"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    go("blame", {
      epoch: String(data.get("epoch")),
      unwanted: String(data.get("unwanted")).trim(),
      missing: String(data.get("missing")).trim(),
    });
  });
  return form;
}

/**
 * @param {HTMLElement} place
 * @param {number} epoch
 * @param {Faults} faults
 */
async function showBlamed(place, epoch, faults) {
  try {
    const found = await askBlame({ ...faults, epoch });
    fill(
      place,
      h("h2", {}, "Blame"),
      h(
        "p",
        {},
        found.changes.length === 1
          ? "One change causes it. "
          : `${counted(found.changes.length, "change")} cause it; none can be left out. `,
        h("span", { class: "quiet" }, duration(found.seconds)),
      ),
      changeList(found.changes.map((each) => each.text)),
      notes(found),
      found.proofs.map((root) => h("div", { class: "scrolls story" }, storyTree(root))),
    );
  } catch (error) {
    showMistake(place, "Blame", error);
  }
}

/** @param {import("../replies.js").NodeReply} root */
function storyTree(root) {
  const tree = new ProofTree({
    root,
    label: `How ${root.text.slice(0, 100)} came about`,
    choose: null,
    open: async (node) => node,
  });
  tree.expandAll(3).catch(showError);
  return tree.element;
}

/**
 * @param {HTMLElement} place
 * @param {number} epoch
 * @param {Faults} faults
 * @param {string[]} rejected
 */
async function showRepair(place, epoch, faults, rejected) {
  try {
    const found = await askRepair({ ...faults, epoch, reject: rejected, alternatives: 3 });
    const choices = found.found ? [found, ...found.alternatives] : [];
    fill(
      place,
      h("h2", {}, "Repair"),
      found.found ? null : h("p", {}, "No repair is left: whatever else is taken back, some of these faults remain."),
      choices.map((each, number) =>
        repairView(each, number, (change) => showRepair(place, epoch, faults, [...rejected, change])),
      ),
      notes(found),
      rejected.length
        ? h(
            "p",
            { class: "quiet" },
            "Not to be touched: ",
            rejected.map((each) => [h("code", {}, each), " "]),
            h(
              "button",
              { type: "button", class: "bare", on: { click: () => showRepair(place, epoch, faults, []) } },
              "Start again",
            ),
          )
        : null,
    );
  } catch (error) {
    showMistake(place, "Repair", error);
  }
}

/**
 * @param {import("../replies.js").RepairReply} repair
 * @param {number} number
 * @param {(change: string) => void} reject
 */
function repairView(repair, number, reject) {
  const facts = repair.changes.filter((each) => !each.rule);
  const stageAll = () => {
    for (const each of facts) stage(each.text[0] === "+" ? "+" : "-", each.text.slice(1));
  };
  return h(
    "div",
    { class: "repair" },
    h(
      "p",
      {},
      h(
        "strong",
        {},
        number
          ? `Or take back ${counted(repair.changes.length, "change")}`
          : `Take back ${counted(repair.changes.length, "change")}`,
      ),
      h(
        "span",
        { class: "quiet" },
        repair.optimal
          ? ` — nothing cheaper exists (cost ${repair.cost})`
          : ` — cost ${repair.cost}, at least ${repair.bound} is needed`,
      ),
    ),
    changeList(repair.apply, repair.taken_back, reject),
    session.about.may_write && facts.length
      ? h("button", { type: "button", on: { click: stageAll } }, icon("plus"), "Stage this repair")
      : null,
    facts.length < repair.changes.length
      ? h("p", { class: "quiet" }, "Changes of rules are taken back on the page Rules.")
      : null,
  );
}

/**
 * The changes with their signs; `names` are what to call them when one is rejected.
 * @param {string[]} texts
 * @param {string[]} names
 * @param {((change: string) => void) | null} reject
 */
function changeList(texts, names = [], reject = null) {
  return h(
    "ul",
    { class: "script" },
    texts.map((text, place) =>
      h(
        "li",
        { class: text.startsWith("+") ? "plus" : "minus" },
        h("span", { class: "sign" }, text[0] === "-" ? "−" : "+"),
        h("code", {}, coloured(text.slice(1))),
        reject
          ? h(
              "button",
              {
                type: "button",
                class: "bare",
                title: "Look for a repair that leaves this change as it is",
                on: { click: () => reject(names[place]) },
              },
              "Not this one",
            )
          : null,
      ),
    ),
  );
}

/** @param {{ notes: string[] }} found */
function notes(found) {
  return found.notes.length
    ? h(
        "ul",
        { class: "quiet" },
        found.notes.map((each) => h("li", {}, each)),
      )
    : null;
}

/**
 * @param {HTMLElement} place
 * @param {string} title
 * @param {unknown} error
 */
function showMistake(place, title, error) {
  if (!(error instanceof AskError)) throw error;
  fill(place, h("h2", {}, title), diagnosticList(error.diagnostics));
}
