// A page of facts as a table: filter, sort, turn pages, move with the keyboard, choose a fact.

import { isAbort } from "./api.js";
import { count, counted, fill, h, icon, later } from "./dom.js";
import { diagnosticList } from "./notices.js";

const SIZES = [50, 100, 250, 1000];

// Options: ask(parameters, signal) gives a page; choose(row) is called for a fact that is clicked or
// entered; remove(row), if there is one, for the Delete key; note(state) hears of every new state;
// sign marks the rows of a delta; label names the table; noun says what choosing does.
export class FactTable {
  constructor(options, state = {}) {
    this.options = options;
    this.state = { offset: 0, limit: 100, sort: [], filters: {}, ...state };
    this.page = null;
    this.status = h("div", { class: "matching", role: "status" });
    this.frame = h("div", { class: "frame" });
    this.footer = h("div", { class: "turn" });
    this.mistakes = h("div", {});
    this.element = h("div", { class: "facts" }, this.mistakes, this.frame, this.footer);
    this.filterSoon = later(300, () => this.restart());
  }

  async load() {
    this.running?.abort();
    this.running = new AbortController();
    this.element.setAttribute("aria-busy", "true");
    try {
      this.page = await this.options.ask(this.parameters(), this.running.signal);
    } catch (error) {
      if (isAbort(error)) return;
      this.element.removeAttribute("aria-busy");
      if (!error.diagnostics || this.page === null) throw error;
      fill(this.mistakes, diagnosticList(error.diagnostics));
      return;
    }
    this.element.removeAttribute("aria-busy");
    this.state.offset = this.page.offset;
    fill(this.mistakes);
    this.draw();
    this.options.note?.(this.state);
  }

  parameters() {
    const { offset, limit, sort, filters } = this.state;
    const asked = { offset, limit, sort: sort.map(([place, down]) => (down ? `-${place}` : place)).join(",") };
    for (const [place, text] of Object.entries(filters)) asked[`f${place}`] = text;
    return asked;
  }

  restart() {
    this.state.offset = 0;
    this.loadAgain();
  }

  turn(offset) {
    const { matching, limit } = this.page;
    const last = Math.max(0, Math.floor((matching - 1) / limit) * limit);
    this.state.offset = Math.max(0, Math.min(offset, last));
    this.loadAgain();
  }

  loadAgain() {
    this.load().catch((error) =>
      fill(this.mistakes, diagnosticList(error.diagnostics ?? [{ code: "page", message: String(error) }])),
    );
  }

  draw() {
    if (this.body === undefined) this.drawHead();
    this.drawSorts();
    this.drawRows();
    this.drawFooter();
  }

  drawHead() {
    const { columns } = this.page;
    this.sorters = columns.map((column, place) =>
      h("button", { type: "button", class: "sorter", on: { click: (event) => this.sortBy(place, event.shiftKey) } }),
    );
    const filters = columns.map((column, place) => {
      const input = h("input", {
        type: "text",
        class: "filter",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: hint(column),
        "aria-label": `Filter ${column.name}`,
        value: this.state.filters[place] ?? "",
      });
      input.addEventListener("input", () => {
        this.state.filters[place] = input.value;
        this.filterSoon();
      });
      return h("th", {}, input);
    });
    const hasFilters = this.options.filters && columns.length > 0;
    this.body = h("tbody", { on: { keydown: (event) => this.onKey(event) } });
    const table = h(
      "table",
      { role: "grid", "aria-label": this.options.label },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          this.sorters.map((sorter, place) => h("th", { scope: "col", class: columns[place].kind }, sorter)),
          columns.length ? null : h("th", { scope: "col" }, "holds"),
          h("th", { class: "act" }, h("span", { class: "unseen" }, "Actions")),
        ),
        hasFilters ? h("tr", { class: "filters" }, filters, h("th", { class: "act" })) : null,
      ),
      this.body,
    );
    fill(this.frame, table);
  }

  drawSorts() {
    const { columns } = this.page;
    this.sorters.forEach((sorter, place) => {
      const found = this.state.sort.find(([each]) => each === place);
      const order = found ? (found[1] ? "descending" : "ascending") : "none";
      sorter.parentElement.setAttribute("aria-sort", order);
      sorter.title = "Sort; with Shift by several columns";
      fill(
        sorter,
        h("span", { class: "name" }, columns[place].name),
        h("span", { class: "type" }, columns[place].type),
        h("span", { class: `order ${order}` }, icon(order === "none" ? "sort" : order === "ascending" ? "up" : "down")),
      );
    });
  }

  sortBy(place, isFurther) {
    const found = this.state.sort.find(([each]) => each === place);
    const others = isFurther ? this.state.sort.filter(([each]) => each !== place) : [];
    const next = found === undefined ? [[place, false]] : found[1] ? [] : [[place, true]];
    this.state.sort = [...others, ...next];
    this.restart();
  }

  drawRows() {
    const { rows, columns } = this.page;
    const sign = this.options.sign;
    fill(
      this.body,
      rows.map((row, number) => {
        const cells = columns.length
          ? row.values.map((text, place) =>
              h("td", { class: columns[place].kind, title: text.length > 60 ? text.slice(0, 1000) : null }, text),
            )
          : [h("td", {}, "true")];
        if (sign)
          cells[0].prepend(
            h(
              "span",
              { class: `sign ${sign === "+" ? "plus" : "minus"}`, "aria-label": sign === "+" ? "inserted" : "deleted" },
              sign,
            ),
          );
        const element = h(
          "tr",
          { class: `row${sign === "+" ? " plus" : sign ? " minus" : ""}`, tabindex: number === 0 ? 0 : -1 },
          cells,
          h("td", { class: "act" }, this.actions(row)),
        );
        element.addEventListener("click", (event) => {
          if (!event.target.closest("button") && !String(getSelection())) this.choose(row, element);
        });
        element.addEventListener("focus", () => this.stand(element));
        element.fact = row;
        return element;
      }),
    );
    if (!rows.length) {
      const isFiltered = Object.values(this.state.filters).some(Boolean);
      fill(
        this.body,
        h(
          "tr",
          {},
          h(
            "td",
            { class: "none", colspan: columns.length + 1 },
            isFiltered ? "No fact fits the filters." : "There are no facts.",
          ),
        ),
      );
    }
  }

  actions(row) {
    return this.options
      .actions(row)
      .map(([words, title, act]) =>
        h(
          "button",
          {
            type: "button",
            class: "bare",
            tabindex: -1,
            title,
            "aria-label": row.fact ? `${title}: ${row.fact.slice(0, 200)}` : title,
            on: { click: (event) => act(row, event.target.closest("tr")) },
          },
          words,
        ),
      );
  }

  choose(row, element) {
    if (!row.fact) return;
    this.body.querySelectorAll("[aria-selected]").forEach((each) => each.removeAttribute("aria-selected"));
    element.setAttribute("aria-selected", "true");
    this.stand(element);
    this.options.choose(row);
  }

  stand(element) {
    this.body.querySelectorAll('[tabindex="0"]').forEach((each) => each.setAttribute("tabindex", "-1"));
    element.setAttribute("tabindex", "0");
  }

  onKey(event) {
    const row = event.target.closest("tr.row");
    if (!row || event.target.closest("button")) return;
    const rows = [...this.body.querySelectorAll("tr.row")];
    const place = rows.indexOf(row);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) {
      rows[Math.max(0, Math.min(to, rows.length - 1))].focus();
    } else if (event.key === "Enter") {
      this.choose(row.fact, row);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      this.turn(this.page.offset + (event.key === "PageDown" ? 1 : -1) * this.page.limit);
    } else if (event.key === "Delete" && this.options.remove) {
      this.options.remove(row.fact);
    } else {
      return;
    }
    event.preventDefault();
  }

  drawFooter() {
    const { matching, offset, limit, rows, size, order } = this.page;
    const button = (name, words, to, isOff) =>
      h(
        "button",
        {
          type: "button",
          class: "bare",
          "aria-label": words,
          title: words,
          disabled: isOff,
          on: { click: () => this.turn(to) },
        },
        icon(name),
      );
    const last = Math.floor(Math.max(0, matching - 1) / limit) * limit;
    const sizes = h(
      "select",
      { "aria-label": "Facts on a page", class: "small" },
      SIZES.map((each) => h("option", { value: each, selected: each === limit }, `${count(each)} a page`)),
    );
    sizes.addEventListener("change", () => {
      this.state.limit = Number(sizes.value);
      this.restart();
    });
    const jump = h("input", {
      type: "text",
      inputmode: "numeric",
      class: "small jump",
      "aria-label": "Go to fact number",
      placeholder: "go to",
    });
    jump.addEventListener("keydown", (event) => {
      const wanted = Number(jump.value.replaceAll(",", ""));
      if (event.key === "Enter" && wanted > 0) this.turn(Math.floor((wanted - 1) / limit) * limit);
    });
    const orders = { stored: ", as stored", value: "", sorted: "" };
    fill(
      this.status,
      matching === size ? counted(size, "fact") : `${count(matching)} of ${counted(size, "fact")}`,
      orders[order],
    );
    fill(
      this.footer,
      this.status,
      matching > SIZES[0]
        ? [
            h("span", { class: "range" }, `${count(offset + 1)}–${count(offset + rows.length)}`),
            button("first", "First page", 0, offset === 0),
            button("left", "Previous page", offset - limit, offset === 0),
            button("right", "Next page", offset + limit, offset >= last),
            button("last", "Last page", last, offset >= last),
            matching > limit ? jump : null,
            sizes,
          ]
        : null,
    );
  }
}

function hint(column) {
  return ["number", "unsigned", "float"].includes(column.kind) ? "5  >5  1..9" : "contains  =is";
}
