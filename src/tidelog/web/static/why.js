// Why a fact holds, over the whole page; also the place to type a fact.

import { AskError } from "./api.js";
import { completes } from "./completion.js";
import { fill, h } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { proofView } from "./proof_view.js";
import { go } from "./router.js";

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showWhy(ground, route) {
  const fact = route.query.get("fact") ?? "";
  const properties = { type: "text", id: "fact", class: "mono", spellcheck: "false", autocomplete: "off" };
  const input = h("input", { ...properties, value: fact, "aria-label": "A fact", placeholder: 'path("a", "b")' });
  const form = h(
    "form",
    { class: "ask" },
    h("h1", {}, "Why"),
    h("div", { class: "ask-field" }, input, completes(input)),
    h("button", { type: "submit", class: "main-button" }, "Ask"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go("why", { fact: input.value });
  });
  const content = h("div", { class: "content" });
  fill(ground, form, content);
  if (!fact) return;
  content.addEventListener("again", () => showProof(content, fact));
  await showProof(content, fact);
}

/**
 * @param {HTMLElement} content
 * @param {string} fact
 */
async function showProof(content, fact) {
  try {
    const view = await proofView(fact);
    view.classList.add("wide");
    fill(content, view);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    const isAbsent = error.diagnostics.some((each) => each.code === "fact-absent");
    const button = h("button", { type: "button", on: { click: () => go("why-not", { fact }) } }, "Why not?");
    fill(content, diagnosticList(error.diagnostics), isAbsent ? button : null);
  }
}
