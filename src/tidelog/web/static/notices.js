// Messages: small ones that pass, and diagnostics that stay where they belong.

import { diagnosticsOf, isAbort } from "./api.js";
import { byId, h, icon } from "./dom.js";

/**
 * Show a message in the corner. One with something to do stays until it is closed.
 * @param {import("./dom.js").Child} words
 * @param {{ kind?: string, actions?: [string, () => void][], seconds?: number }} options
 */
export function toast(words, { kind = "news", actions = [], seconds = actions.length ? 0 : 9 } = {}) {
  const close = h("button", { class: "bare", type: "button", "aria-label": "Close the message" }, icon("close"));
  const button = (/** @type {[string, () => void]} */ [label, act]) => {
    const click = () => {
      box.remove();
      act();
    };
    return h("button", { type: "button", on: { click } }, label);
  };
  const box = h(
    "div",
    { class: `toast ${kind}` },
    h("div", { class: "words" }, words),
    actions.length ? h("div", { class: "buttons" }, actions.map(button)) : null,
    close,
  );
  close.addEventListener("click", () => box.remove());
  const toasts = byId("toasts");
  // Those that wait for somebody would pile up: the latest of each kind is enough.
  for (const old of [...toasts.querySelectorAll(`.toast.${kind}`)]) if (actions.length) old.remove();
  toasts.append(box);
  if (seconds) setTimeout(() => box.remove(), seconds * 1000);
  return box;
}

/** @param {unknown} error */
export function showError(error) {
  if (isAbort(error)) return;
  toast(diagnosticList(diagnosticsOf(error)), { kind: "error", seconds: 20 });
}

/**
 * Return diagnostics as a list, each with its code, its place and its hint.
 * @param {import("./api.js").Diagnostic[]} diagnostics
 */
export function diagnosticList(diagnostics) {
  return h(
    "div",
    { class: "diagnostics", role: "alert" },
    h(
      "ul",
      {},
      diagnostics.map((each) =>
        h(
          "li",
          { class: each.severity ?? "error" },
          h("span", { class: "message" }, each.message),
          each.hint ? h("span", { class: "hint" }, each.hint) : null,
          h("span", { class: "code" }, each.place ? `${each.code} · line ${each.place.line}` : each.code),
        ),
      ),
    ),
  );
}
