// A proof as a tree that opens on demand: the pattern of an ARIA tree, keys and all.

import { fill, h, icon } from "./dom.js";
import { coloured } from "./source.js";

// Options: root is a node; open(node) gives a node with its premises; choose(node) hears of the chosen
// node; label names the tree. A node has `premises`, or `has_more` where they are still to be fetched.
export class ProofTree {
  constructor({ root, open, choose, label }) {
    this.open = open;
    this.choose = choose;
    this.element = h("ul", {
      class: "tree",
      role: "tree",
      "aria-label": label,
      on: { keydown: (event) => this.onKey(event) },
    });
    const item = this.item(root, 1);
    item.setAttribute("tabindex", "0");
    fill(this.element, item);
    if (root.premises?.length) this.expand(item);
    this.select(item);
  }

  item(node, level) {
    const isOpenable = node.has_more || Boolean(node.premises?.length);
    const arrow = h("span", { class: "arrow" }, isOpenable ? icon("right") : null);
    const row = h(
      "div",
      { class: `node ${node.kind}` },
      arrow,
      node.mark
        ? h("span", { class: `mark ${CLASSES[node.mark] ?? node.mark}`, title: node.mark }, MARKS[node.mark])
        : null,
      node.kind === "miss" && node.note ? h("span", { class: "verdict" }, node.note) : null,
      h("code", { class: "atom" }, coloured(node.text)),
      node.kind !== "miss" && node.note ? h("span", { class: "note", title: node.note }, node.note) : null,
      node.rule ? h("span", { class: "rule-name" }, node.rule.name ?? `line ${node.rule.place?.line ?? "?"}`) : null,
      node.is_input ? h("span", { class: "rule-name input" }, "input") : null,
    );
    const item = h("li", { role: "treeitem", "aria-level": level, "aria-selected": "false", tabindex: "-1" }, row);
    if (isOpenable) item.setAttribute("aria-expanded", "false");
    item.setAttribute("aria-label", [node.mark, node.text, node.note].filter(Boolean).join(", "));
    item.node = node;
    row.addEventListener("click", (event) => {
      event.stopPropagation();
      this.select(item);
      item.focus();
      if (event.target.closest(".arrow") || event.detail === 2) this.toggle(item);
    });
    return item;
  }

  select(item) {
    this.element
      .querySelectorAll('[aria-selected="true"]')
      .forEach((each) => each.setAttribute("aria-selected", "false"));
    this.element.querySelectorAll('[tabindex="0"]').forEach((each) => each.setAttribute("tabindex", "-1"));
    item.setAttribute("aria-selected", "true");
    item.setAttribute("tabindex", "0");
    this.choose?.(item.node);
  }

  toggle(item) {
    if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
    else if (item.hasAttribute("aria-expanded")) this.expand(item);
  }

  collapse(item) {
    item.querySelector(":scope > ul")?.remove();
    item.setAttribute("aria-expanded", "false");
  }

  async expand(item) {
    const node = item.node;
    item.setAttribute("aria-expanded", "true");
    if (node.premises === null || node.premises === undefined) {
      const waiting = h("ul", { role: "group" }, h("li", { role: "none", class: "quiet waiting" }, "…"));
      item.append(waiting);
      try {
        Object.assign(node, await this.open(node));
      } catch (error) {
        waiting.remove();
        item.setAttribute("aria-expanded", "false");
        throw error;
      }
      waiting.remove();
      if (item.getAttribute("aria-expanded") !== "true") return;
    }
    const level = Number(item.getAttribute("aria-level")) + 1;
    item.append(
      h(
        "ul",
        { role: "group" },
        node.premises.map((each) => this.item(each, level)),
      ),
    );
    // The node may have learned its rule on the way.
    if (item.getAttribute("aria-selected") === "true") this.choose?.(node);
  }

  async expandAll(levels) {
    for (let depth = 0; depth < levels; depth += 1) {
      const closed = [...this.element.querySelectorAll('[aria-expanded="false"]')].slice(0, 200);
      if (!closed.length) return;
      await Promise.all(closed.map((item) => this.expand(item)));
    }
  }

  collapseAll() {
    this.element.querySelectorAll(':scope > li > ul [aria-expanded="true"]').forEach((item) => this.collapse(item));
    const root = this.element.querySelector(":scope > li");
    this.select(root);
    this.collapse(root);
  }

  onKey(event) {
    const item = event.target.closest("[role=treeitem]");
    const shown = [...this.element.querySelectorAll("[role=treeitem]")];
    const place = shown.indexOf(item);
    const move = (to) => {
      if (!to) return;
      this.select(to);
      to.focus();
    };
    switch (event.key) {
      case "ArrowDown":
        move(shown[place + 1]);
        break;
      case "ArrowUp":
        move(shown[place - 1]);
        break;
      case "Home":
        move(shown[0]);
        break;
      case "End":
        move(shown.at(-1));
        break;
      case "ArrowRight":
        if (item.getAttribute("aria-expanded") === "false") this.expand(item);
        else move(item.querySelector("[role=treeitem]"));
        break;
      case "ArrowLeft":
        if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
        else move(item.parentElement.closest("[role=treeitem]"));
        break;
      case "Enter":
      case " ":
        this.toggle(item);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

const MARKS = { holds: "✓", fails: "✗", open: "○", "+": "+", "-": "−" };
const CLASSES = { "+": "plus", "-": "minus" };
