// What is known of the chosen node: its rule in the program's text, and what its variables stand for.

import { fill, h } from "./dom.js";
import { address, go } from "./router.js";
import { markLines, sourceLines } from "./source.js";

/** @typedef {import("../replies.js").NodeReply} TreeNode */
/** @typedef {import("../replies.js").PlaceReply} Place */

export class Details {
  /** @type {string | null} */
  source = null;
  /** @type {HTMLElement | null} */
  lines = null;

  /** @param {import("../replies.js").ProgramReply} program */
  constructor(program) {
    this.program = program;
    this.title = h("div", { class: "about" });
    this.pane = h("div", { class: "pane scrolls", tabindex: 0, role: "group", "aria-label": "Text of the program" });
    this.element = h("section", { class: "details", "aria-label": "Rule" }, this.title, this.pane);
  }

  /** @param {TreeNode} node */
  show(node) {
    const bindings = node.bindings?.length
      ? h(
          "dl",
          { class: "bindings", "aria-label": "Bindings" },
          node.bindings.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
        )
      : null;
    fill(this.title, h("div", { class: "words" }, this.words(node)), bindings);
    const place = node.rule?.place ?? node.place;
    if (place) this.mark(place);
    else if (this.lines) markLines(this.lines, null);
    this.pane.hidden = !this.lines;
  }

  /**
   * @param {TreeNode} node
   * @returns {import("./dom.js").Child[]}
   */
  words(node) {
    const relation = /^!?\s*([\w.?]+)\(/.exec(node.text)?.[1] ?? "";
    if (node.kind === "fold") {
      const rules = node.rules?.join(", ") ?? "";
      return [`A chain of steps by ${rules}, each resting on the next. Open it to see them.`];
    }
    if (node.rule) {
      const { place, name } = node.rule;
      const where = place ? ` at line ${place.line} of ${place.source.split("/").at(-1)}` : "";
      return ["By the rule ", h("strong", {}, name ?? ""), where, ":"];
    }
    if (node.is_input) {
      return ["An input fact of ", h("a", { class: "mono", href: address("facts", relation) }, relation), "."];
    }
    if (node.kind === "negated") {
      const { fact } = node;
      const ask = () => go("why-not", { fact });
      const button = h("button", { type: "button", class: "bare", on: { click: ask } }, "Why not?");
      return ["It does not hold, as the rule asks. ", fact ? button : null];
    }
    if (node.kind === "constraint") return ["A constraint that is true."];
    return [node.note ?? ""];
  }

  /** @param {Place} place */
  mark(place) {
    if (this.source !== place.source) {
      const found = this.program.sources.find((each) => each.name === place.source);
      if (!found) return;
      this.source = place.source;
      this.lines = sourceLines(found.text);
      fill(this.pane, this.lines);
    }
    this.pane.hidden = false;
    const { lines } = this;
    // Once it is laid out: before that nothing has a height.
    if (lines) requestAnimationFrame(() => markLines(lines, place));
  }
}
