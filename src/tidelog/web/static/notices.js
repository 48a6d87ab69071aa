// Messages: small ones that pass, and diagnostics that stay where they belong.

import { h, icon } from "./dom.js";

// Show a message in the corner; actions are [words, function] pairs.
export function toast(words, { kind = "news", actions = [], seconds = 9 } = {}) {
  const close = h("button", { class: "bare", type: "button", "aria-label": "Close the message" }, icon("close"));
  const box = h(
    "div",
    { class: `toast ${kind}` },
    h("div", { class: "words" }, words),
    actions.map(([label, act]) =>
      h(
        "button",
        {
          type: "button",
          on: {
            click: () => {
              box.remove();
              act();
            },
          },
        },
        label,
      ),
    ),
    close,
  );
  close.addEventListener("click", () => box.remove());
  document.getElementById("toasts").append(box);
  if (seconds) setTimeout(() => box.remove(), seconds * 1000);
  return box;
}

export function showError(error) {
  const diagnostics = error.diagnostics ?? [{ code: "page", message: String(error.message ?? error), hint: null }];
  toast(diagnosticList(diagnostics), { kind: "error", seconds: 20 });
}

// Return diagnostics as a list, each with its code, its place and its hint.
export function diagnosticList(diagnostics) {
  return h(
    "ul",
    { class: "diagnostics", role: "alert" },
    diagnostics.map((each) =>
      h(
        "li",
        { class: each.severity ?? "error" },
        h("span", { class: "message" }, each.message),
        each.hint ? h("span", { class: "hint" }, each.hint) : null,
        h("span", { class: "code" }, each.place ? `${each.code} · line ${each.place.line}` : each.code),
      ),
    ),
  );
}
