// Shortcuts that work everywhere, and the page that lists them all.

import { byId, h, icon } from "./dom.js";
import { go } from "./router.js";

const SHORTCUTS = [
  ["/", "find a relation"],
  ["t", "the table: to the facts that are shown"],
  ["g f", "facts: the overview of relations"],
  ["g q", "query"],
  ["g r", "rules"],
  ["g n", "why not"],
  ["g e", "epochs"],
  ["↑ ↓", "move between facts, or between the nodes of a proof"],
  ["→ ←", "the actions of a fact; open a node, close it or go to the one above"],
  ["Enter", "ask why the chosen fact holds; open or close a node"],
  ["Delete", "stage the chosen input fact for deletion (with --write)"],
  ["PgUp PgDn", "previous and next page of facts"],
  ["Ctrl Enter", "commit the staged changes (with --write)"],
  ["Esc", "close the proof, or this list"],
  ["?", "this list"],
];
/** @type {Record<string, string[]>} */
const GO = { f: [], q: ["query"], r: ["rules"], n: ["why-not"], e: ["epochs"] };
const KEY = "tidelog-single-keys";

/** @param {() => void} closeInspector */
export function startKeys(closeInspector) {
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      closeInspector();
      return;
    }
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
    if (isTyping || !areOn()) return;
    if (isGoing && GO[event.key]) {
      event.preventDefault();
      go(...GO[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      byId("side").classList.add("open");
      byId("find-relation").focus();
    } else if (event.key === "t") {
      focusContent();
    } else if (event.key === "?") {
      showShortcuts();
    }
    isGoing = event.key === "g" && !isGoing;
  });
}

/** Put the focus on what the page is about: its facts, or the whole of it. */
export function focusContent() {
  const main = byId("main");
  const row = main.querySelector('tr.row[tabindex="0"]');
  if (row instanceof HTMLElement) row.focus();
  else main.focus();
}

export function shortcutsButton() {
  const words = { "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" };
  return h(
    "button",
    { class: "bare", type: "button", id: "shortcuts", ...words, on: { click: showShortcuts } },
    icon("keys"),
  );
}

function areOn() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

/** @param {boolean} isOn */
function turn(isOn) {
  try {
    if (isOn) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, "off");
  } catch {
    // Without storage they stay on.
  }
}

function showShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const close = h("button", { type: "button", class: "main-button" }, "Close");
  const toggle = h("input", { type: "checkbox", id: "single-keys", checked: areOn() });
  toggle.addEventListener("change", () => turn(toggle.checked));
  const dialog = h(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keyboard"),
    h(
      "dl",
      {},
      SHORTCUTS.map(([keys, words]) => [
        h(
          "dt",
          {},
          keys.split(" ").map((key) => h("kbd", {}, key)),
        ),
        h("dd", {}, words),
      ]),
    ),
    h("label", { class: "switch" }, toggle, "Shortcuts of a single key (/ t g ?)"),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
