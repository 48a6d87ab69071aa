// Why a fact holds, over the whole page; also the place to type a fact.

import { fill, h } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { proofView } from "./proof_view.js";
import { go } from "./router.js";

export async function showWhy(ground, route) {
  const fact = route.query.get("fact") ?? "";
  const input = h("input", {
    type: "text",
    class: "mono",
    value: fact,
    "aria-label": "A fact",
    placeholder: 'path("a", "b")',
    spellcheck: "false",
    autocomplete: "off",
  });
  const form = h(
    "form",
    { class: "ask" },
    h("h1", {}, "Why"),
    input,
    h("button", { type: "submit", class: "main-button" }, "Ask"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go("why", { fact: input.value });
  });
  const content = h("div", { class: "content" });
  fill(ground, form, content);
  if (!fact) return;
  try {
    const view = await proofView(fact);
    view.classList.add("wide");
    fill(content, view);
  } catch (error) {
    if (!error.diagnostics) throw error;
    fill(
      content,
      diagnosticList(error.diagnostics),
      h("button", { type: "button", on: { click: () => go("why-not", { fact }) } }, "Why not?"),
    );
  }
}
