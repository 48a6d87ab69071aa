// Changes wait in a tray until they are committed together, as one epoch.

import { post } from "./api.js";
import { counted, fill, h, icon, milliseconds } from "./dom.js";
import { diagnosticList, showError, toast } from "./notices.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { fieldValues, valueField, writeFact } from "./suggest.js";

const staged = new Map();
let tray = null;
let redraw = null;
let isCommitting = false;

export function startChanges(element, draw) {
  tray = element;
  redraw = draw;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && staged.size) {
      event.preventDefault();
      commit();
    }
  });
}

// Stage a change: "+" or "-" and a fact as it is written. The last word about a fact counts.
// `given` is what the server gets where it is not the text: a form's relation and values.
export function stage(sign, fact, given = fact) {
  staged.delete(fact);
  staged.set(fact, { sign, given });
  drawTray();
}

function drawTray(diagnostics = []) {
  tray.hidden = staged.size === 0;
  fill(
    tray,
    h(
      "div",
      { class: "heading" },
      h("h2", {}, `${counted(staged.size, "change")} staged`),
      h("span", { class: "quiet" }, "nothing has changed yet"),
      h("div", { class: "spring" }),
      h(
        "button",
        {
          type: "button",
          on: {
            click: () => {
              staged.clear();
              drawTray();
            },
          },
        },
        "Discard",
      ),
      h(
        "button",
        { type: "button", class: "main-button", id: "commit", disabled: isCommitting, on: { click: commit } },
        isCommitting ? "Committing …" : "Commit",
        h("kbd", {}, "Ctrl ⏎"),
      ),
    ),
    diagnostics.length ? diagnosticList(diagnostics) : null,
    h(
      "ul",
      { class: "script" },
      [...staged].map(([fact, { sign }]) =>
        h(
          "li",
          { class: sign === "+" ? "plus" : "minus" },
          h("span", { class: "sign" }, sign),
          h("code", {}, fact),
          h(
            "button",
            {
              type: "button",
              class: "bare",
              "aria-label": `Do not change ${fact.slice(0, 100)}`,
              on: {
                click: () => {
                  staged.delete(fact);
                  drawTray();
                },
              },
            },
            icon("close"),
          ),
        ),
      ),
    ),
  );
}

async function commit() {
  if (isCommitting) return;
  isCommitting = true;
  drawTray();
  const of = (wanted) => [...staged.values()].filter(({ sign }) => sign === wanted).map(({ given }) => given);
  try {
    const epoch = await post("/api/changes", { insert: of("+"), delete: of("-") });
    staged.clear();
    isCommitting = false;
    drawTray();
    await afterEpoch(epoch);
  } catch (error) {
    isCommitting = false;
    drawTray(error.diagnostics ?? []);
    if (!error.diagnostics) throw error;
  }
}

// Take an epoch back by applying the opposite changes; that is an epoch too.
export async function takeBack(epoch) {
  try {
    await afterEpoch(await post("/api/changes", { take_back: epoch }));
  } catch (error) {
    showError(error);
  }
}

// Show what an epoch did and draw everything anew.
export async function afterEpoch(epoch) {
  await session.load();
  const words = [
    h("strong", {}, `Epoch ${epoch.epoch}`),
    ": ",
    h("span", { class: "plus" }, `+${counted(epoch.inserted, "fact")}`),
    ", ",
    h("span", { class: "minus" }, `−${counted(epoch.deleted, "fact")}`),
    ` in ${milliseconds(epoch.seconds)}`,
    epoch.violations.length
      ? h("div", { class: "minus" }, `${counted(epoch.violations.length, "guard")} broken.`)
      : null,
    epoch.without_effect.length
      ? h("div", { class: "quiet" }, "Some changes had no effect: their facts were there, or were not, already.")
      : null,
  ];
  toast(words, {
    actions: [
      ["See the difference", () => go("epochs", String(epoch.epoch))],
      ["Take back", () => takeBack(epoch.epoch)],
    ],
    seconds: 14,
  });
  await redraw();
}

// Return a form that stages the insertion of a fact.
export function insertForm(relation) {
  const form = h(
    "form",
    { class: "insert", "aria-label": `Insert a fact into ${relation.name}` },
    h(
      "div",
      { class: "fields" },
      relation.columns.map((_, place) => valueField(relation, place)),
    ),
    h("button", { type: "submit" }, icon("plus"), "Stage"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = fieldValues(form);
    stage("+", writeFact(relation, values), { relation: relation.name, values });
    form.reset();
    form.querySelector("input")?.focus();
  });
  return form;
}
