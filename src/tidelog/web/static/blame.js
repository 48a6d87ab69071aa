// Which changes caused a fault, and the fewest to take back.

import { post } from "./api.js";
import { stage } from "./changes.js";
import { counted, fill, h, icon, milliseconds } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { ProofTree } from "./proof_tree.js";
import { address, go } from "./router.js";
import { session } from "./session.js";
import { coloured } from "./source.js";

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

function lines(text) {
  return text
    .split("\n")
    .map((each) => each.trim().replace(/\.$/, ""))
    .filter(Boolean);
}

function faultForm(epoch, faults) {
  const area = (name, words, found) =>
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
      epoch: data.get("epoch"),
      unwanted: data.get("unwanted").trim(),
      missing: data.get("missing").trim(),
    });
  });
  return form;
}

async function showBlamed(place, epoch, faults) {
  try {
    const found = await post("/api/blame", { ...faults, epoch });
    fill(
      place,
      h("h2", {}, "Blame"),
      h(
        "p",
        {},
        `${counted(found.changes.length, "change")} ${found.changes.length === 1 ? "brings" : "bring"} it about; none can be left out. `,
        h("span", { class: "quiet" }, milliseconds(found.seconds)),
      ),
      changeList(found.changes.map((each) => each.text)),
      notes(found),
      found.proofs.map((root) => h("div", { class: "scrolls story" }, storyTree(root))),
    );
  } catch (error) {
    showMistake(place, "Blame", error);
  }
}

function storyTree(root) {
  const tree = new ProofTree({
    root,
    label: `How ${root.text.slice(0, 100)} came about`,
    choose: null,
    open: async (node) => node,
  });
  tree.expandAll(3);
  return tree.element;
}

async function showRepair(place, epoch, faults, rejected) {
  try {
    const found = await post("/api/repair", { ...faults, epoch, reject: rejected, alternatives: 3 });
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

function repairView(repair, number, reject) {
  const facts = repair.changes.filter((each) => !each.rule);
  const stageAll = () => facts.forEach((each) => stage(each.text[0], each.text.slice(1)));
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
      ? h("p", { class: "quiet" }, "Rules are changed in the shell or in Python.")
      : null,
  );
}

// The changes with their signs; `names` are what to call them when one is rejected.
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

function notes(found) {
  return found.notes.length
    ? h(
        "ul",
        { class: "quiet" },
        found.notes.map((each) => h("li", {}, each)),
      )
    : null;
}

function showMistake(place, title, error) {
  if (!error.diagnostics) throw error;
  fill(place, h("h2", {}, title), diagnosticList(error.diagnostics));
}
