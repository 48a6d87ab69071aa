// A proof as a tree that opens on demand: the pattern of an ARIA tree, keys and all.

import { count, counted, cut, fill, h, icon } from "./dom.js";
import { showError } from "./notices.js";
import { coloured } from "./source.js";

/** @typedef {import("../replies.js").NodeReply} TreeNode */
/**
 * `open` gives a node with its premises, `steps` some steps of a fold; `choose` hears of the chosen node.
 * @typedef {object} Options
 * @property {TreeNode} root
 * @property {string} label
 * @property {(node: TreeNode) => Promise<TreeNode>} open
 * @property {((node: TreeNode, offset: number, limit: number) => Promise<TreeNode[]>)} [steps]
 * @property {((node: TreeNode, above: TreeNode[]) => void) | null} choose
 */

// A fold shows so many steps at each end and folds the rest again.
const ENDS = 50;
// Deeper nodes are not indented any further: the level is written instead.
const DEEPEST = 12;
const MARKS = { holds: "✓", fails: "✗", open: "○", "+": "+", "-": "−" };
const CLASSES = { "+": "plus", "-": "minus" };

/** @type {WeakMap<Element, TreeNode>} */
const nodes = new WeakMap();
/** What a fold stands for: the first of its steps within the chain. @type {WeakMap<TreeNode, number>} */
const offsets = new WeakMap();

export class ProofTree {
  /** The first place where each fact is shown. @type {Map<string, HTMLElement>} */
  shown = new Map();

  /** @param {Options} options */
  constructor({ root, open, steps, choose, label }) {
    this.open = open;
    this.steps = steps;
    this.choose = choose;
    const keydown = (/** @type {KeyboardEvent} */ event) => this.onKey(event);
    this.element = h("ul", { class: "tree", role: "tree", "aria-label": label, on: { keydown } });
    const item = this.item(root, 1);
    item.setAttribute("tabindex", "0");
    fill(this.element, item);
    if (root.premises?.length) this.expand(item);
    this.select(item);
  }

  /**
   * @param {TreeNode} node
   * @param {number} level
   */
  item(node, level) {
    const isOpenable = node.has_more || Boolean(node.premises?.length);
    const row = h(
      "div",
      { class: `node ${node.kind}` },
      h("span", { class: "arrow" }, isOpenable ? icon("right") : null),
    );
    const item = h("li", { role: "treeitem", "aria-level": level, "aria-selected": "false", tabindex: "-1" }, row);
    row.append(...(node.kind === "fold" ? foldWords(node) : nodeWords(node)));
    if (level > DEEPEST) row.append(h("span", { class: "depth", title: "Level of the tree" }, level));
    this.markShared(node, item, row);
    if (isOpenable) item.setAttribute("aria-expanded", "false");
    item.setAttribute("aria-label", [node.mark, row.innerText || row.textContent].filter(Boolean).join(" "));
    nodes.set(item, node);
    row.addEventListener("click", (event) => {
      event.stopPropagation();
      const target = event.target instanceof Element ? event.target : row;
      if (target.closest(".shared")) return;
      this.select(item);
      item.focus({ preventScroll: true });
      if (node.kind === "fold" || target.closest(".arrow") || event.detail === 2) this.toggle(item);
    });
    return item;
  }

  /**
   * A derived fact that is shown elsewhere too says so, and leads there.
   * @param {TreeNode} node
   * @param {HTMLElement} item
   * @param {HTMLElement} row
   */
  markShared(node, item, row) {
    if (node.kind !== "fact" || node.is_input) return;
    const first = this.shown.get(node.text);
    if (!first || (!first.isConnected && this.shown.size > 1)) {
      this.shown.set(node.text, item);
      return;
    }
    const go = () => {
      if (!first.isConnected) return;
      this.select(first);
      first.focus();
    };
    const title = "Several steps rest on this fact: go to its first place";
    row.append(h("button", { type: "button", class: "shared", tabindex: -1, title, on: { click: go } }, "shared"));
  }

  /** @param {HTMLElement} item */
  select(item) {
    for (const each of this.element.querySelectorAll('[aria-selected="true"]')) {
      each.setAttribute("aria-selected", "false");
    }
    for (const each of this.element.querySelectorAll('li[tabindex="0"]')) each.setAttribute("tabindex", "-1");
    item.setAttribute("aria-selected", "true");
    item.setAttribute("tabindex", "0");
    this.tell(item);
  }

  /** Say which node is chosen, and those above it. @param {HTMLElement} item */
  tell(item) {
    const above = [];
    for (let each = parentOf(item); each; each = parentOf(each)) above.unshift(nodeOf(each));
    this.choose?.(nodeOf(item), above);
  }

  /** Choose the node that is so many levels above the chosen one. @param {number} levels */
  climb(levels) {
    let item = this.element.querySelector('[aria-selected="true"]');
    for (let left = levels; left > 0 && item; left -= 1) item = parentOf(item);
    if (!(item instanceof HTMLElement)) return;
    this.select(item);
    item.focus();
  }

  /** @param {HTMLElement} item */
  toggle(item) {
    if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
    else if (item.hasAttribute("aria-expanded")) this.expand(item).catch(showError);
  }

  /** @param {Element} item */
  collapse(item) {
    item.querySelector(":scope > ul")?.remove();
    item.setAttribute("aria-expanded", "false");
  }

  /** @param {HTMLElement} item */
  async expand(item) {
    const node = nodeOf(item);
    item.setAttribute("aria-expanded", "true");
    if (node.premises === null || node.premises === undefined) {
      const words = h("li", { role: "none", class: "quiet waiting" }, "…");
      const waiting = h("ul", { role: "group" }, words);
      item.append(waiting);
      try {
        if (node.kind === "fold") node.premises = await this.unfold(node);
        else Object.assign(node, await this.open(node));
      } catch (error) {
        item.setAttribute("aria-expanded", "false");
        throw error;
      } finally {
        waiting.remove();
      }
      if (item.getAttribute("aria-expanded") !== "true") return;
    }
    const level = Number(item.getAttribute("aria-level")) + 1;
    const below = (node.premises ?? []).flatMap((each) => (each.end ? [each, each.end] : [each]));
    const group = h("ul", { role: "group", class: level > DEEPEST ? "flat" : null });
    item.append(group);
    group.append(...below.map((each) => this.item(each, level)));
    // The node may have learned its rule on the way.
    if (item.getAttribute("aria-selected") === "true") this.tell(item);
  }

  /** Return the steps at both ends of a fold, and a fold of those between. @param {TreeNode} fold */
  async unfold(fold) {
    const first = offsets.get(fold) ?? 0;
    const size = fold.count ?? 0;
    const steps = this.steps;
    if (!steps) return [];
    if (size <= 2 * ENDS) return steps(fold, first, size);
    const [begin, end] = await Promise.all([steps(fold, first, ENDS), steps(fold, first + size - ENDS, ENDS)]);
    const rest = size - 2 * ENDS;
    /** @type {TreeNode} */
    const middle = { ...fold, text: counted(rest, "step"), count: rest, premises: null, is_cut: false };
    delete middle.end;
    offsets.set(middle, first + ENDS);
    return [...begin, middle, ...end];
  }

  /** @param {number} levels */
  async expandAll(levels) {
    for (let depth = 0; depth < levels; depth += 1) {
      const closed = [...this.element.querySelectorAll('[aria-expanded="false"]')]
        .filter((item) => nodeOf(item).kind !== "fold")
        .slice(0, 200);
      if (!closed.length) return;
      await Promise.all(closed.map((item) => this.expand(/** @type {HTMLElement} */ (item))));
    }
  }

  collapseAll() {
    const root = this.element.querySelector(":scope > li");
    if (!(root instanceof HTMLElement)) return;
    this.select(root);
    this.collapse(root);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const item = event.target instanceof Element ? event.target.closest("[role=treeitem]") : null;
    if (!(item instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll("[role=treeitem]")]);
    const place = shown.indexOf(item);
    const move = (/** @type {Element | null | undefined} */ to) => {
      if (!(to instanceof HTMLElement)) return;
      this.select(to);
      to.focus();
    };
    const state = item.getAttribute("aria-expanded");
    if (event.key === "ArrowDown") move(shown[place + 1]);
    else if (event.key === "ArrowUp") move(shown[place - 1]);
    else if (event.key === "Home") move(shown[0]);
    else if (event.key === "End") move(shown.at(-1));
    else if (event.key === "ArrowRight" && state === "false") this.toggle(item);
    else if (event.key === "ArrowRight") move(item.querySelector("[role=treeitem]"));
    else if (event.key === "ArrowLeft" && state === "true") this.collapse(item);
    else if (event.key === "ArrowLeft") move(parentOf(item));
    else if (event.key === "Enter" || event.key === " ") this.toggle(item);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {Element} item */
function nodeOf(item) {
  const node = nodes.get(item);
  if (!node) throw new Error("an item of a tree has a node");
  return node;
}

/** @param {Element} item */
function parentOf(item) {
  return item.parentElement?.closest("[role=treeitem]") ?? null;
}

/** @param {TreeNode} node */
function foldWords(node) {
  const steps = counted(node.count ?? 0, "step");
  const by = node.rules?.length ? ` by ${node.rules.slice(0, 3).join(", ")}` : "";
  return [h("span", { class: "fold-words" }, `… ${steps}${node.is_cut ? " and more" : ""}${by} …`)];
}

/** @param {TreeNode} node */
function nodeWords(node) {
  const mark = /** @type {keyof typeof MARKS | null | undefined} */ (node.mark);
  const kind = mark ? (CLASSES[/** @type {keyof typeof CLASSES} */ (mark)] ?? mark) : "";
  const isMiss = node.kind === "miss";
  const words = [
    mark ? h("span", { class: `mark ${kind}`, title: mark }, MARKS[mark]) : null,
    isMiss && node.note ? h("span", { class: "verdict" }, node.note) : null,
    h("code", { class: "atom" }, coloured(node.text)),
    !isMiss && node.note ? h("span", { class: "note" }, node.note) : null,
    node.rule ? h("span", { class: "rule-name" }, node.rule.name ?? `line ${node.rule.place?.line ?? "?"}`) : null,
    node.is_input ? h("span", { class: "rule-name input" }, "input") : null,
  ];
  return words.filter((each) => each !== null);
}

/**
 * Return the way from the root to the chosen node; a click climbs back.
 * @param {TreeNode} node
 * @param {TreeNode[]} above
 * @param {(levels: number) => void} climb
 */
export function pathWords(node, above, climb) {
  const part = (/** @type {TreeNode} */ each, /** @type {number} */ levels) => {
    const words = each.kind === "fold" ? `… ${count(each.count ?? 0)} steps …` : cut(each.text, 40);
    const button = h(
      "button",
      { type: "button", class: "bare", title: each.text, on: { click: () => climb(levels) } },
      words,
    );
    return h("li", {}, levels ? button : h("span", { "aria-current": "true", title: each.text }, words));
  };
  const all = [...above, node];
  const parts = all.map((each, place) => part(each, all.length - 1 - place));
  const shown = parts.length > 5 ? [parts[0], h("li", {}, "…"), ...parts.slice(-3)] : parts;
  return h("ol", { class: "way", "aria-label": "The way to this node" }, shown);
}
