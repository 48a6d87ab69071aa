// The panel at the right: why the chosen fact holds.

import { fill, h, icon } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { proofView } from "./proof_view.js";
import { address, go } from "./router.js";

const panel = document.getElementById("inspector");
let asked = 0;
let before = null;

export async function inspect(fact) {
  const turn = (asked += 1);
  before ??= document.activeElement;
  panel.hidden = false;
  const content = h("div", { class: "content" }, h("p", { class: "quiet pad" }, "Looking for a proof …"));
  fill(
    panel,
    h(
      "header",
      {},
      h("h2", {}, "Why ", h("code", { class: "mono" }, fact.length > 60 ? `${fact.slice(0, 60)}…` : fact)),
      h("span", { class: "spring" }),
      h(
        "a",
        {
          class: "button bare",
          href: address("why", { fact }),
          title: "Open as a page",
          "aria-label": "Open as a page",
          on: { click: () => closeInspector(false) },
        },
        icon("expand"),
      ),
      h(
        "button",
        {
          type: "button",
          class: "bare",
          "aria-label": "Close the proof",
          title: "Close (Esc)",
          on: { click: () => closeInspector() },
        },
        icon("close"),
      ),
    ),
    content,
  );
  try {
    const view = await proofView(fact);
    if (turn !== asked) return;
    fill(content, view);
    view.querySelector("[role=treeitem]")?.focus();
  } catch (error) {
    if (turn !== asked) return;
    fill(
      content,
      h(
        "div",
        { class: "pad" },
        diagnosticList(error.diagnostics ?? [{ code: "page", message: String(error) }]),
        h(
          "button",
          {
            type: "button",
            on: {
              click: () => {
                closeInspector();
                go("why-not", { fact });
              },
            },
          },
          "Why not?",
        ),
      ),
    );
  }
}

export function closeInspector(givesFocus = true) {
  if (panel.hidden) return;
  asked += 1;
  panel.hidden = true;
  fill(panel);
  document.querySelectorAll("tr[aria-selected]").forEach((row) => row.removeAttribute("aria-selected"));
  if (givesFocus && before?.isConnected) before.focus();
  before = null;
}

window.addEventListener("hashchange", () => closeInspector(false));
