// Why a fact holds: its proof as a tree and as a picture, other derivations, and the input facts below it all.

import { askDerivations, askSteps, askSupport, askWhy, proofFile } from "./calls.js";
import { Details } from "./details.js";
import { count, counted, fill, h, icon } from "./dom.js";
import { whenLive } from "./live.js";
import { showError } from "./notices.js";
import { proofPicture, savePicture } from "./proof_picture.js";
import { ProofTree, pathWords } from "./proof_tree.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { coloured } from "./source.js";
import { closesOutside } from "./table_files.js";
import { tabbed } from "./tabs.js";

/** @typedef {import("../replies.js").NodeReply} TreeNode */

/** Return the view of why a fact holds; raises if it does not. @param {string} fact */
export async function proofView(fact) {
  const [answer, program] = await Promise.all([askWhy({ fact, depth: 2 }), session.rules()]);
  const details = new Details(program);
  const isInput = Boolean(answer.proof.is_input);
  const proof = () => treeSide(fact, answer.proof, null, details);
  /** @type {[string, () => HTMLElement | Promise<HTMLElement>][]} */
  const tabs = [["Proof", proof]];
  if (!isInput) {
    tabs.push(
      ["Picture", () => proofPicture({ fact })],
      ["Derivations", () => derivations(fact, details)],
      ["Input facts", () => supportSide(fact)],
    );
  }
  const { list, panel } = tabbed("Views of the proof", tabs);
  const news = h("div", { class: "proof-news", role: "status" });
  const view = h(
    "div",
    { class: "proof" },
    h("div", { class: "tree-part" }, h("div", { class: "bar" }, list, takeMenu(fact)), news, panel),
    details.element,
  );
  followEpochs(view, news, fact, answer.epoch);
  return view;
}

/**
 * A proof belongs to its epoch: say so when another one comes, and whether the fact still holds.
 * @param {HTMLElement} view
 * @param {HTMLElement} news
 * @param {string} fact
 * @param {number} epoch
 */
function followEpochs(view, news, fact, epoch) {
  whenLive(view, async (present) => {
    if (present <= epoch) return;
    const again = () => view.dispatchEvent(new CustomEvent("again", { bubbles: true, detail: fact }));
    try {
      await askWhy({ fact, depth: 0 });
      const button = h("button", { type: "button", on: { click: again } }, "Prove it again");
      fill(news, `This proof is of epoch ${epoch}. In epoch ${present} the fact still holds. `, button);
    } catch {
      const button = h("button", { type: "button", on: { click: () => go("why-not", { fact }) } }, "Why not?");
      fill(news, h("strong", {}, `Since epoch ${present} this no longer holds. `), button);
      view.classList.add("gone");
    }
  });
}

/**
 * A tree with the way to the chosen node above it.
 * @param {string} fact
 * @param {TreeNode} root
 * @param {number | null} derivation
 * @param {Details} details
 */
function treeSide(fact, root, derivation, details) {
  const name = derivation === null ? { fact } : { fact, derivation };
  const way = h("div", { class: "way-side" });
  /** @type {ProofTree} */
  const tree = new ProofTree({
    root,
    label: derivation === null ? `Proof of ${fact.slice(0, 200)}` : `Derivation ${derivation + 1}`,
    choose: (node, above) => {
      details.show(node);
      fill(way, above.length ? pathWords(node, above, (levels) => tree.climb(levels)) : null);
    },
    open: async (node) => (await askWhy({ ...name, path: node.path, depth: 1 })).proof,
    steps: async (fold, offset, limit) => (await askSteps({ ...name, path: fold.path, offset, limit })).steps,
  });
  const button = (/** @type {"down" | "up"} */ picture, /** @type {string} */ words, /** @type {() => void} */ act) =>
    h("button", { type: "button", class: "bare", on: { click: act } }, icon(picture), words);
  const tools = h(
    "div",
    { class: "tree-tools" },
    way,
    button("down", "Open more", () => tree.expandAll(3).catch(showError)),
    button("up", "Close all", () => tree.collapseAll()),
  );
  return h("div", { class: "tree-column" }, tools, h("div", { class: "scrolls tree-side" }, tree.element));
}

/**
 * @param {string} fact
 * @param {Details} details
 */
async function derivations(fact, details) {
  const { proofs, is_cut } = await askDerivations(fact);
  const words = `${counted(proofs.length, "derivation")}${is_cut ? ", and there are more" : ""}`;
  const trees = proofs.map((root, number) => treeSide(fact, root, number, details));
  return h("div", { class: "scrolls derivations" }, h("p", { class: "quiet pad" }, words), trees);
}

/** @param {string} fact */
async function supportSide(fact) {
  const place = h("div", { class: "scrolls support", tabindex: 0, role: "group", "aria-label": "Input facts" });
  const show = async (/** @type {number} */ offset) => {
    const { facts, size, offset: first } = await askSupport(fact, offset);
    const turn = (/** @type {"left" | "right"} */ to, /** @type {number} */ at) => {
      const words = to === "left" ? "Previous input facts" : "Next input facts";
      const isOff = at < 0 || at >= size;
      const click = () => show(at).catch(showError);
      return h(
        "button",
        { type: "button", class: "bare", "aria-label": words, disabled: isOff, on: { click } },
        icon(to),
      );
    };
    const pager = h(
      "div",
      { class: "turn" },
      h("span", { class: "range" }, `${count(first + 1)}–${count(first + facts.length)}`),
      turn("left", first - 1000),
      turn("right", first + 1000),
    );
    fill(
      place,
      h("p", {}, h("strong", {}, `It rests on ${counted(size, "input fact")}`)),
      size > facts.length ? pager : null,
      h(
        "ol",
        { start: first + 1 },
        facts.map((each) => h("li", {}, h("code", {}, coloured(each)))),
      ),
    );
  };
  await show(0);
  return place;
}

/** The proof as files. @param {string} fact */
function takeMenu(fact) {
  const picture = (/** @type {"svg" | "png"} */ form) =>
    h(
      "button",
      { type: "button", on: { click: () => savePicture({ fact }, form) } },
      `Picture (${form.toUpperCase()})`,
    );
  const menu = h(
    "details",
    { class: "menu right" },
    h(
      "summary",
      { class: "button bare", title: "Save the proof" },
      icon("save"),
      h("span", { class: "unseen" }, "Save the proof"),
    ),
    h(
      "div",
      { class: "menu-items" },
      h("a", { href: proofFile(fact, "text"), download: "" }, "Text"),
      h("a", { href: proofFile(fact, "mermaid"), download: "" }, "Mermaid"),
      picture("svg"),
      picture("png"),
    ),
  );
  closesOutside(menu);
  return menu;
}
