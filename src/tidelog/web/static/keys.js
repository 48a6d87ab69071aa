// Shortcuts that work everywhere, and the page that lists them all.

import { h, icon } from "./dom.js";
import { go } from "./router.js";

const SHORTCUTS = [
  ["/", "find a relation"],
  ["g f", "facts: the overview of relations"],
  ["g r", "rules"],
  ["g n", "why not"],
  ["g e", "epochs"],
  ["↑ ↓", "move between facts, or between the nodes of a proof"],
  ["Enter", "ask why the chosen fact holds; open or close a node"],
  ["→ ←", "open a node, close it or go to the one above"],
  ["Delete", "stage the chosen input fact for deletion (with --write)"],
  ["PgUp PgDn", "previous and next page of facts"],
  ["Ctrl Enter", "commit the staged changes (with --write)"],
  ["Esc", "close the proof, or this list"],
  ["?", "this list"],
];
const GO = { f: [], r: ["rules"], n: ["why-not"], e: ["epochs"] };

export function startKeys(closeInspector) {
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      closeInspector();
      return;
    }
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (isGoing && GO[event.key]) {
      event.preventDefault();
      go(...GO[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("find-relation").focus();
    } else if (event.key === "?") {
      showShortcuts();
    }
    isGoing = event.key === "g" && !isGoing;
  });
}

export function shortcutsButton() {
  return h(
    "button",
    {
      class: "bare",
      type: "button",
      id: "shortcuts",
      "aria-label": "Keyboard shortcuts",
      title: "Keyboard shortcuts (?)",
      on: { click: showShortcuts },
    },
    icon("keys"),
  );
}

function showShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const close = h("button", { type: "button", class: "main-button" }, "Close");
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
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
