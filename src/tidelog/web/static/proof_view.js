// A proof with the rule beside it: the tree above, and below it the program with the line marked.

import { post } from "./api.js";
import { counted, fill, h, icon } from "./dom.js";
import { showError } from "./notices.js";
import { ProofTree } from "./proof_tree.js";
import { address, go } from "./router.js";
import { session } from "./session.js";
import { markLines, sourceLines } from "./source.js";

// Return the view of why a fact holds; raises if it does not.
export async function proofView(fact) {
  const [answer, program] = await Promise.all([post("/api/why", { fact, depth: 2 }), session.rules()]);
  const details = new Details(program);
  const tree = new ProofTree({
    root: answer.proof,
    label: `Proof of ${fact.slice(0, 200)}`,
    choose: (node) => details.show(node),
    open: async (node) => (await post("/api/why", { fact, path: node.path, depth: 1 })).proof,
  });
  const others = h("button", { type: "button", class: "bare" }, "Other derivations");
  others.addEventListener("click", () => showOthers(fact, others, holder, details));
  const holder = h("div", { class: "scrolls tree-side" }, tree.element);
  const support = h("button", { type: "button", class: "bare" }, "Input facts");
  support.addEventListener("click", () => showSupport(fact, support, holder));
  const bar = h(
    "div",
    { class: "bar" },
    h(
      "button",
      { type: "button", class: "bare", on: { click: () => tree.expandAll(3).catch(showError) } },
      icon("down"),
      "Open more",
    ),
    h("button", { type: "button", class: "bare", on: { click: () => tree.collapseAll() } }, icon("up"), "Close all"),
    answer.proof.is_input ? null : [support, others],
  );
  return h("div", { class: "proof" }, h("div", { class: "tree-part" }, bar, holder), details.element);
}

async function showOthers(fact, button, holder, details) {
  button.disabled = true;
  try {
    const { proofs, is_cut } = await post("/api/derivations", { fact });
    fill(
      holder,
      h("p", { class: "quiet" }, counted(proofs.length, "derivation"), is_cut ? ", and there are more" : ""),
      proofs.map(
        (root, number) =>
          new ProofTree({
            root,
            label: `Derivation ${number + 1}`,
            choose: (node) => details.show(node),
            open: async (node) =>
              (await post("/api/why", { fact, derivation: number, path: node.path, depth: 1 })).proof,
          }).element,
      ),
    );
  } catch (error) {
    button.disabled = false;
    showError(error);
  }
}

async function showSupport(fact, button, holder) {
  button.disabled = true;
  try {
    const { facts, is_cut } = await post("/api/support", { fact });
    holder.prepend(
      h(
        "section",
        { class: "support", "aria-label": "Input facts the proof rests on" },
        h("h3", {}, `It rests on ${counted(facts.length, "input fact")}${is_cut ? " and more" : ""}`),
        h(
          "ul",
          {},
          facts.map((each) => h("li", {}, h("code", {}, each))),
        ),
      ),
    );
  } catch (error) {
    button.disabled = false;
    showError(error);
  }
}

// What is known of the chosen node: its rule in the program's text, and what its variables stand for.
export class Details {
  constructor(program) {
    this.program = program;
    this.title = h("div", { class: "about" });
    this.pane = h("div", { class: "pane scrolls" });
    this.source = null;
    this.element = h("section", { class: "details", "aria-label": "Rule" }, this.title, this.pane);
  }

  show(node) {
    const bindings = node.bindings?.length
      ? h(
          "dl",
          { class: "bindings", "aria-label": "Bindings" },
          node.bindings.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
        )
      : null;
    fill(this.title, h("div", { class: "words" }, this.words(node)), bindings);
    if (node.rule?.place) this.mark(node.rule.place);
    else if (node.place) this.mark(node.place);
    else if (this.lines) markLines(this.lines, null);
    this.pane.hidden = !this.lines;
  }

  words(node) {
    const relation = /^!?\s*([\w.?]+)\(/.exec(node.text)?.[1];
    if (node.rule) {
      const { place, name } = node.rule;
      return [
        "By the rule ",
        h("strong", {}, name ?? ""),
        place ? ` at line ${place.line} of ${place.source.split("/").at(-1)}` : "",
        ":",
      ];
    }
    if (node.is_input)
      return ["An input fact of ", h("a", { class: "mono", href: address("facts", relation ?? "") }, relation), "."];
    if (node.kind === "negated") {
      const fact = node.fact ?? null;
      return [
        "It does not hold, as the rule asks. ",
        fact
          ? h("button", { type: "button", class: "bare", on: { click: () => go("why-not", { fact }) } }, "Why not?")
          : null,
      ];
    }
    if (node.kind === "constraint") return ["A constraint that is true."];
    return [node.note ?? ""];
  }

  mark(place) {
    if (this.source !== place.source) {
      const found = this.program.sources.find((each) => each.name === place.source);
      if (!found) return;
      this.source = place.source;
      this.lines = sourceLines(found.text);
      fill(this.pane, this.lines);
    }
    this.pane.hidden = false;
    // Once it is laid out: before that nothing has a height.
    requestAnimationFrame(() => markLines(this.lines, place));
  }
}
