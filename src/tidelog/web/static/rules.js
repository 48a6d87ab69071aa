// The program: its rules by relation at the left, its text with the chosen rule marked at the right.

import { counted, fill, h, icon } from "./dom.js";
import { address, note } from "./router.js";
import { ruleEditor } from "./rule_editor.js";
import { session } from "./session.js";
import { coloured, markLines, sourceLines } from "./source.js";
import { stageAll } from "./staged.js";

/** @typedef {import("../replies.js").RuleReply} Rule */
/** @typedef {import("../replies.js").PlaceReply} Place */

/**
 * @param {HTMLElement} ground
 * @param {import("./router.js").Route} route
 */
export async function showRules(ground, route) {
  const { sources, rules, declarations } = await session.rules();
  const wanted = route.query.get("relation");
  const pane = h("div", { class: "pane scrolls", tabindex: 0, role: "group", "aria-label": "Text of the program" });
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Sources" });
  const list = h("div", { class: "rule-list scrolls" });
  let shown = "";
  let lines = sourceLines("");

  const showSource = (/** @type {string} */ name, /** @type {Place | null} */ place) => {
    if (shown !== name) {
      shown = name;
      const source = sources.find((each) => each.name === name);
      lines = sourceLines(source?.text ?? "", (line) => choose(ruleAt(rules, name, line)));
      fill(pane, lines);
      drawTabs();
    }
    markLines(lines, place);
  };
  const drawTabs = () =>
    fill(
      tabs,
      sources.map(({ name }) => {
        const click = () => showSource(name, null);
        return h("button", { type: "button", "aria-pressed": String(name === shown), on: { click } }, name);
      }),
    );
  const choose = (/** @type {Rule | undefined} */ rule) => {
    if (!rule) return;
    for (const each of list.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
    list.querySelector(`[data-rule="${rule.id}"]`)?.setAttribute("aria-current", "true");
    showSource(rule.place.source, rule.place);
    note("rules", { relation: wanted ?? "", rule: rule.id });
  };

  const shownRules = rules.filter((rule) => !wanted || rule.head === wanted);
  drawList(list, shownRules, choose, wanted);
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, wanted ? ["Rules of ", h("span", { class: "mono" }, wanted)] : "Rules"),
      wanted ? h("a", { class: "button", href: "#/rules" }, "All rules") : null,
      h("div", { class: "spring" }),
      session.about.may_write ? addButton(list) : null,
    ),
    h("div", { class: "split" }, list, h("div", { class: "code-side" }, sources.length > 1 ? tabs : null, pane)),
  );
  const named = shownRules.find((rule) => String(rule.id) === route.query.get("rule"));
  const first = named ?? (wanted ? shownRules[0] : undefined);
  if (first) choose(first);
  else if (wanted && declarations[wanted]) showSource(declarations[wanted].source, declarations[wanted]);
  else if (sources.length) showSource(sources[0].name, null);
}

/**
 * @param {Rule[]} rules
 * @param {string} source
 * @param {number} line
 */
function ruleAt(rules, source, line) {
  return rules.find(
    ({ place }) => place.source === source && place.line <= line && line <= (place.end_line ?? place.line),
  );
}

/**
 * @param {HTMLElement} list
 * @param {Rule[]} rules
 * @param {(rule: Rule) => void} choose
 * @param {string | null} wanted
 */
function drawList(list, rules, choose, wanted) {
  const heads = [...new Set(rules.map((rule) => rule.head ?? ""))];
  const title = (/** @type {string} */ head) =>
    h(
      "h2",
      {},
      head ? h("a", { class: "mono", href: address("facts", head) }, head) : "other",
      h("span", { class: "quiet" }, head ? ` ${counted(session.relation(head)?.size ?? 0, "fact")}` : ""),
    );
  const words = wanted ? `No rule derives ${wanted}: it has only input facts.` : "The program has no rules.";
  fill(
    list,
    rules.length ? null : h("p", { class: "quiet" }, words),
    heads.map((head) => [
      title(head),
      rules.filter((rule) => (rule.head ?? "") === head).map((rule) => ruleItem(rule, choose)),
    ]),
  );
}

/**
 * @param {Rule} rule
 * @param {(rule: Rule) => void} choose
 */
function ruleItem(rule, choose) {
  const text = h(
    "button",
    { type: "button", class: "rule", data: { rule: rule.id }, on: { click: () => choose(rule) } },
    h("span", { class: "place" }, `line ${rule.place.line}`),
    h("code", {}, coloured(rule.text)),
  );
  const item = h("div", { class: "rule-item" }, text);
  if (!session.about.may_write) return item;
  const edit = () => {
    item.querySelector("form")?.remove();
    const form = ruleEditor(rule, () => form.remove());
    item.append(form);
    form.querySelector("textarea")?.focus();
  };
  const remove = () => stageAll([{ sign: "-", text: rule.text, rule: rule.id }]);
  const label = (/** @type {string} */ words) => ({
    title: words,
    "aria-label": `${words}: ${rule.text.slice(0, 100)}`,
  });
  item.append(
    h(
      "div",
      { class: "rule-tools" },
      h("button", { type: "button", class: "bare", ...label("Edit the rule"), on: { click: edit } }, icon("edit")),
      h("button", { type: "button", class: "bare", ...label("Stage its removal"), on: { click: remove } }, icon("bin")),
    ),
  );
  return item;
}

/** @param {HTMLElement} list */
function addButton(list) {
  const add = () => {
    list.querySelector("form.new-rule")?.remove();
    const form = ruleEditor(null, () => form.remove());
    form.classList.add("new-rule");
    list.prepend(form);
    form.querySelector("textarea")?.focus();
  };
  return h("button", { type: "button", class: "main-button", on: { click: add } }, icon("plus"), "Add rules");
}
