// A rule edited where it stands: checked as it is typed, then staged, tried out and committed with the rest.

import { isAbort } from "./api.js";
import { checkChanges } from "./calls.js";
import { fill, h, later } from "./dom.js";
import { diagnosticList, showError } from "./notices.js";
import { stageAll } from "./staged.js";

/**
 * Return the form of a rule, or of new ones.
 * @param {import("../replies.js").RuleReply | null} rule
 * @param {() => void} close
 */
export function ruleEditor(rule, close) {
  const text = h("textarea", {
    class: "mono",
    rows: Math.max(3, (rule?.text.split("\n").length ?? 0) + 1),
    spellcheck: "false",
    value: rule?.text ?? "",
    placeholder: "path(x, z) :- path(x, y), edge(y, z).",
    "aria-label": rule ? "The rule" : "New rules and declarations",
  });
  const told = h("div", { role: "status" });
  const form = h(
    "form",
    { class: "rule-editor" },
    text,
    told,
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "submit", class: "main-button" }, "Stage"),
      h("button", { type: "button", on: { click: close } }, "Cancel"),
    ),
  );
  /** @type {AbortController | null} */
  let running = null;
  const removed = rule ? [rule.id] : [];
  const check = later(300, async () => {
    running?.abort();
    running = new AbortController();
    if (!text.value.trim()) return;
    try {
      const body = { add_rules: text.value, remove_rules: removed };
      const { diagnostics } = await checkChanges(body, running.signal);
      fill(told, diagnostics.length ? diagnosticList(diagnostics) : h("p", { class: "plus" }, "No mistakes."));
    } catch (error) {
      if (!isAbort(error)) showError(error);
    }
  });
  text.addEventListener("input", () => check());
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!text.value.trim()) return;
    if (rule) stageAll([{ sign: "-", text: rule.text, rule: rule.id }]);
    stageAll([{ sign: "+", text: text.value.trim(), rule: text.value }]);
    close();
  });
  return form;
}
