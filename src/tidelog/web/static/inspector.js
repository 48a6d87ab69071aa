// The panel at the right: why the chosen fact holds.

import { diagnosticsOf } from "./api.js";
import { askWitness } from "./calls.js";
import { byId, cut, fill, h, icon } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { proofView } from "./proof_view.js";
import { address, go } from "./router.js";

const panel = byId("inspector");
let asked = 0;
/** @type {Element | null} */
let before = null;

panel.addEventListener("again", (event) => {
  if (event instanceof CustomEvent) inspect(event.detail);
});

/** Show why a fact holds; `_` in it stands for any value. @param {string} fact */
export async function inspect(fact) {
  asked += 1;
  const turn = asked;
  before ??= document.activeElement;
  panel.hidden = false;
  const content = h("div", { class: "content" }, h("p", { class: "quiet pad" }, "Looking for a proof …"));
  fill(panel, header(fact), content);
  try {
    const found = /\b_\b/.test(fact.replace(/"(?:\\.|[^"\\])*"/g, "")) ? (await askWitness(fact)).fact : fact;
    const view = await proofView(found ?? fact);
    if (turn !== asked) return;
    fill(panel, header(found ?? fact), content);
    fill(content, view);
    const first = view.querySelector("[role=treeitem]");
    if (first instanceof HTMLElement) first.focus();
  } catch (error) {
    if (turn !== asked) return;
    const ask = () => {
      closeInspector();
      go("why-not", { fact });
    };
    const button = h("button", { type: "button", on: { click: ask } }, "Why not?");
    fill(content, h("div", { class: "pad" }, diagnosticList(diagnosticsOf(error)), button));
  }
}

/** @param {string} fact */
function header(fact) {
  const open = { href: address("why", { fact }), title: "Open as a page", "aria-label": "Open as a page" };
  const close = { type: "button", class: "bare", "aria-label": "Close the proof", title: "Close (Esc)" };
  return h(
    "header",
    {},
    h("h2", { title: fact }, "Why ", h("code", { class: "mono" }, cut(fact, 120))),
    h("span", { class: "spring" }),
    h("a", { class: "button bare", ...open, on: { click: () => closeInspector(false) } }, icon("expand")),
    h("button", { ...close, on: { click: () => closeInspector() } }, icon("close")),
  );
}

export function closeInspector(givesFocus = true) {
  if (panel.hidden) return;
  asked += 1;
  panel.hidden = true;
  fill(panel);
  for (const row of document.querySelectorAll("tr[aria-selected]")) row.removeAttribute("aria-selected");
  if (givesFocus && before instanceof HTMLElement && before.isConnected) before.focus();
  before = null;
}

window.addEventListener("hashchange", () => closeInspector(false));
