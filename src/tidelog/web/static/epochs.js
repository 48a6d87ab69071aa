// Epochs as a timeline, and what each of them changed.

import { get } from "./api.js";
import { takeBack } from "./changes.js";
import { count, counted, fill, h, icon, milliseconds } from "./dom.js";
import { inspect } from "./inspector.js";
import { address, go, note } from "./router.js";
import { session } from "./session.js";
import { FactTable } from "./table.js";

export async function showEpochs(ground, route) {
  const { epochs, epoch: present } = await get("/api/epochs");
  if (!epochs.length) {
    fill(
      ground,
      h("div", { class: "heading" }, h("h1", {}, "Epochs")),
      h(
        "p",
        { class: "quiet" },
        `This is epoch ${present}, and no delta is remembered: `,
        present === 0
          ? "nothing has changed since the program was evaluated."
          : "the store was written as a whole since.",
      ),
    );
    return;
  }
  const wanted = Number(route.parts[0] ?? epochs.at(-1).epoch);
  const detail = h("div", { class: "epoch" });
  const bars = timeline(epochs, wanted, (number) => {
    note("epochs", String(number));
    showEpoch(detail, number, null);
  });
  fill(
    ground,
    h(
      "div",
      { class: "heading" },
      h("h1", {}, "Epochs"),
      h("span", { class: "quiet" }, `${epochs[0].epoch} to ${present}; epoch 0 evaluated the program`),
    ),
    bars,
    detail,
  );
  bars.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "center" });
  await showEpoch(detail, wanted, route.parts[1] ?? null);
}

// Bars for what each epoch inserted and deleted; arrows move between them.
function timeline(epochs, wanted, choose) {
  const most = Math.max(1, ...epochs.map((each) => Math.max(each.inserted, each.deleted)));
  const height = (number) => (number ? 6 + Math.round((Math.log1p(number) / Math.log1p(most)) * 44) : 0);
  const list = h("div", {
    class: "timeline",
    role: "listbox",
    "aria-label": "Epochs",
    "aria-orientation": "horizontal",
  });
  const select = (item, isQuiet = false) => {
    list.querySelectorAll("[role=option]").forEach((each) => {
      each.setAttribute("aria-selected", String(each === item));
      each.setAttribute("tabindex", each === item ? "0" : "-1");
    });
    if (!isQuiet) choose(Number(item.dataset.epoch));
  };
  for (const each of epochs) {
    const words = `Epoch ${each.epoch}: ${counted(each.inserted, "fact")} inserted, ${counted(each.deleted, "fact")} deleted, ${milliseconds(each.seconds)}`;
    const item = h(
      "div",
      { role: "option", class: "tick", title: words, "aria-label": words, tabindex: "-1", "aria-selected": "false" },
      bar(height(each.inserted), height(each.deleted)),
      h("span", { class: "number" }, each.epoch),
    );
    item.dataset.epoch = each.epoch;
    item.addEventListener("click", () => {
      select(item);
      item.focus();
    });
    list.append(item);
    if (each.epoch === wanted) select(item, true);
  }
  list.addEventListener("keydown", (event) => {
    const items = [...list.children];
    const place = items.indexOf(document.activeElement);
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined || !items[to]) return;
    event.preventDefault();
    select(items[to]);
    items[to].focus();
  });
  return list;
}

// Drawn with attributes of SVG: the page's policy forbids styles written into elements.
function bar(up, down) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 22 104");
  svg.setAttribute("class", "bars");
  svg.setAttribute("aria-hidden", "true");
  const box = (name, y, size) => {
    const rectangle = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [key, value] of Object.entries({ x: 3, y, width: 16, height: size, rx: 2, class: name }))
      rectangle.setAttribute(key, value);
    svg.append(rectangle);
  };
  box("plus", 51 - up, up);
  box("minus", 53, down);
  return svg;
}

async function showEpoch(detail, number, relation) {
  const epoch = await get(`/api/epochs/${number}`);
  const place = h("div", { class: "delta" });
  const choose = (name) => {
    list.querySelectorAll("[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
    list.querySelector(`[data-name="${CSS.escape(name)}"]`)?.setAttribute("aria-current", "true");
    note("epochs", String(number), name);
    return showDelta(place, epoch, name);
  };
  const list = h(
    "div",
    { class: "changed", role: "group", "aria-label": "Relations that changed" },
    epoch.relations.map((each) => {
      const button = h(
        "button",
        { type: "button", class: "changed-relation", on: { click: () => choose(each.name) } },
        h("span", { class: "mono" }, each.name),
        each.is_derived ? null : h("span", { class: "badge" }, "input"),
        h("span", { class: "spring" }),
        each.inserted ? h("span", { class: "plus" }, `+${count(each.inserted)}`) : null,
        each.deleted ? h("span", { class: "minus" }, `−${count(each.deleted)}`) : null,
      );
      button.dataset.name = each.name;
      return button;
    }),
  );
  fill(
    detail,
    h(
      "div",
      { class: "cards" },
      card(`Epoch ${epoch.epoch}`, milliseconds(epoch.seconds)),
      card(`+${count(epoch.inserted)}`, "facts inserted", "plus"),
      card(`−${count(epoch.deleted)}`, "facts deleted", "minus"),
      card(count(epoch.impact), "impact: changed by rules"),
      h("div", { class: "spring" }),
      epoch.relations.length
        ? h("a", { class: "button", href: address("blame", { epoch: number }) }, "Blame and repair")
        : null,
      session.about.may_write && epoch.changes.length
        ? h("button", { type: "button", on: { click: () => takeBack(number) } }, icon("undo"), "Take back")
        : null,
    ),
    epoch.violations.map((each) => violation(each, number)),
    epoch.relations.length
      ? h("div", { class: "split narrow" }, list, place)
      : h("p", { class: "quiet" }, "This epoch changed no fact."),
    strata(epoch),
  );
  const first =
    epoch.relations.find((each) => each.name === relation) ??
    epoch.relations.find((each) => each.is_derived) ??
    epoch.relations[0];
  if (first) await choose(first.name);
}

// A guard that the epoch broke, and the way to what is to blame.
function violation({ guard, facts, is_always }, epoch) {
  const faults = facts.join("\n");
  return h(
    "ul",
    { class: "diagnostics", role: "alert" },
    h(
      "li",
      {},
      h("span", { class: "message" }, "Guard broken: ", h("code", {}, guard)),
      h(
        "span",
        { class: "hint" },
        `${facts.slice(0, 5).join(", ")}${facts.length > 5 ? " …" : ""} ${is_always ? "vanished" : "appeared"}`,
      ),
      h(
        "a",
        { href: address("blame", is_always ? { epoch, missing: faults } : { epoch, unwanted: faults }) },
        "Blame and repair",
      ),
    ),
  );
}

async function showDelta(place, epoch, name) {
  const sides = epoch.relations.find((each) => each.name === name);
  const tables = [];
  if (sides.deleted) tables.push(deltaTable(epoch, name, "deleted", "-"));
  if (sides.inserted) tables.push(deltaTable(epoch, name, "inserted", "+"));
  await Promise.all(tables.map((table) => table.load()));
  fill(
    place,
    tables.map((table) => [
      h(
        "h3",
        { class: table.options.sign === "+" ? "plus" : "minus" },
        table.options.sign === "+" ? "Inserted" : "Deleted",
      ),
      table.element,
    ]),
  );
}

function deltaTable(epoch, name, side, sign) {
  const isInserted = sign === "+";
  const isPresent = epoch.epoch === session.about.epoch;
  const blame = (row) =>
    go("blame", isInserted ? { epoch: epoch.epoch, unwanted: row.fact } : { epoch: epoch.epoch, missing: row.fact });
  const table = new FactTable({
    label: `${name}: ${side}`,
    sign,
    filters: false,
    ask: (parameters, signal) =>
      get(`/api/epochs/${epoch.epoch}/${encodeURIComponent(name)}`, { ...parameters, side }, signal),
    choose: (row) => (isInserted ? inspect(row.fact) : go("why-not", { fact: row.fact })),
    actions: (row) =>
      row.fact
        ? [
            [
              isInserted ? "Why" : "Why not",
              isInserted ? (isPresent ? "Why it holds" : "Why it holds, if it still does") : "Why it does not hold",
              (_, element) => table.choose(row, element),
            ],
            ["Blame", isInserted ? "Which changes brought it" : "Which changes took it away", () => blame(row)],
          ]
        : [],
  });
  return table;
}

function strata(epoch) {
  const worked = epoch.strata.filter((each) => each.action !== "skipped");
  const skipped = epoch.strata.length - worked.length;
  return h(
    "details",
    { class: "strata" },
    h(
      "summary",
      {},
      `What was done: ${counted(worked.length, "stratum").replace("stratums", "strata")} brought up to date, ${count(skipped)} skipped`,
    ),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Relations", "Action", "Strategy", "Why"].map((each) => h("th", { scope: "col" }, each)),
          h("th", { class: "number" }, "Work"),
          h("th", { class: "number" }, "Time"),
        ),
      ),
      h(
        "tbody",
        {},
        worked.map((each) =>
          h(
            "tr",
            {},
            h("td", { class: "mono" }, each.relations.join(", ")),
            h("td", {}, each.action),
            h("td", {}, each.strategy),
            h("td", { class: "quiet" }, each.reason),
            h("td", { class: "number" }, count(each.work)),
            h("td", { class: "number" }, milliseconds(each.seconds)),
          ),
        ),
      ),
    ),
  );
}

function card(value, words, kind = "") {
  return h("div", { class: `card ${kind}` }, h("strong", {}, value), h("span", {}, words));
}
