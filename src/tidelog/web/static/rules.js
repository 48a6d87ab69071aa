// The program: its rules by relation at the left, its text with the chosen rule marked at the right.

import { count, fill, h } from "./dom.js";
import { address, note } from "./router.js";
import { session } from "./session.js";
import { coloured, markLines, sourceLines } from "./source.js";

export async function showRules(ground, route) {
  const { sources, rules, declarations } = await session.rules();
  const wanted = route.query.get("relation");
  const pane = h("div", { class: "pane scrolls" });
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Sources" });
  const list = h("div", { class: "rule-list scrolls" });
  let shown = null;
  let lines = null;

  const showSource = (name, place) => {
    if (shown !== name) {
      shown = name;
      const source = sources.find((each) => each.name === name);
      lines = sourceLines(source?.text ?? "", (line) =>
        choose(
          rules.find((rule) => rule.place.source === name && rule.place.line <= line && line <= rule.place.end_line),
        ),
      );
      fill(pane, lines);
      drawTabs();
    }
    markLines(lines, place);
  };
  const drawTabs = () =>
    fill(
      tabs,
      sources.map(({ name }) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": String(name === shown),
            on: { click: () => showSource(name, null) },
          },
          name,
        ),
      ),
    );
  const choose = (rule) => {
    if (!rule) return;
    list.querySelectorAll("[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
    list.querySelector(`[data-rule="${rule.id}"]`)?.setAttribute("aria-current", "true");
    showSource(rule.place.source, rule.place);
    note("rules", { relation: wanted ?? "", rule: rule.id });
  };

  const shownRules = rules.filter((rule) => !wanted || rule.head === wanted);
  const heads = [...new Set(shownRules.map((rule) => rule.head ?? ""))];
  fill(
    list,
    heads.map((head) => [
      h(
        "h2",
        {},
        head ? h("a", { class: "mono", href: address("facts", head) }, head) : "other",
        h("span", { class: "quiet" }, head ? ` ${count(session.relation(head)?.size ?? 0)} facts` : ""),
      ),
      shownRules
        .filter((rule) => (rule.head ?? "") === head)
        .map((rule) => {
          const button = h(
            "button",
            { type: "button", class: "rule", on: { click: () => choose(rule) } },
            h("span", { class: "place" }, `line ${rule.place.line}`),
            h("code", {}, coloured(rule.text)),
          );
          button.dataset.rule = rule.id;
          return button;
        }),
    ]),
  );
  if (!shownRules.length) {
    fill(
      list,
      h(
        "p",
        { class: "quiet" },
        wanted ? `No rule derives ${wanted}: it has only input facts.` : "The program has no rules.",
      ),
    );
  }
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, wanted ? ["Rules of ", h("span", { class: "mono" }, wanted)] : "Rules"),
      wanted ? h("a", { class: "button", href: "#/rules" }, "All rules") : null,
    ),
    h("div", { class: "split" }, list, h("div", { class: "code-side" }, sources.length > 1 ? tabs : null, pane)),
  );
  const named =
    shownRules.find((rule) => String(rule.id) === route.query.get("rule")) ?? (wanted ? shownRules[0] : null);
  if (named) choose(named);
  else if (wanted && declarations[wanted]) showSource(declarations[wanted].source, declarations[wanted]);
  else if (sources.length) showSource(sources[0].name, null);
}
