// A table whose rows are kept by key: what has the focus stays where it is while the figures change.

import { focusHeading, make, say } from "./elements.js";

export class Table {
  // columns: {name, title, text(row) or cell(row), number, sort, wide}; key(row) tells rows apart.
  constructor({ caption, columns, key, empty, onSort }) {
    this.columns = columns;
    this.key = key;
    this.onSort = onSort;
    this.rows = new Map();
    // Roles are named, because cards of narrow pages are no table for the browser.
    this.body = make("tbody", { role: "rowgroup" });
    this.heads = columns.map((column) => this.head(column));
    this.empty = make("p", { class: "empty" }, empty);
    this.table = make(
      "table",
      { role: "table" },
      make("caption", { class: "unseen" }, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...this.heads)),
      this.body,
    );
    this.element = make("div", { class: "table-box" }, this.table, this.empty);
    this.show([]);
  }

  head(column) {
    const attributes = { scope: "col", role: "columnheader", class: column.number ? "number" : null };
    if (!column.sort) return make("th", attributes, column.title);
    const button = make("button", { type: "button", class: "sort", onclick: () => this.sorted(column) }, column.title);
    return make("th", { ...attributes, "data-sort": column.sort }, button);
  }

  sorted(column) {
    this.onSort(column.sort);
  }

  mark(sort, order) {
    for (const head of this.heads) {
      if (!head.dataset.sort) continue;
      const on = head.dataset.sort === sort;
      head.setAttribute("aria-sort", on ? (order === "asc" ? "ascending" : "descending") : "none");
    }
  }

  show(rows) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const before = this.rows;
    this.rows = new Map(rows.map((row) => [this.key(row), before.get(this.key(row)) ?? this.row()]));
    // Those that are gone go first: what stands behind them stays in its place.
    for (const [key, gone] of before) if (!this.rows.has(key)) gone.element.remove();
    let place = this.body.firstElementChild;
    for (const row of rows) {
      const kept = this.rows.get(this.key(row));
      this.fill(kept, row);
      if (kept.element === place) place = place.nextElementSibling;
      else this.body.insertBefore(kept.element, place);
    }
    this.empty.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    if (focused !== null) this.keepFocus(focused);
  }

  // A row that was moved gives up the focus, and so does a button that is gone.
  keepFocus(focused) {
    if (!focused.isConnected || focused.hidden) focusHeading();
    else if (document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  row() {
    const cells = this.columns.map((column) => make("td", {
      role: "cell", "data-label": column.title, class: [column.number ? "number" : "", column.wide ? "wide" : "", column.kind ?? ""]
        .join(" ").trim() || null,
    }));
    return { element: make("tr", { role: "row" }, ...cells), cells, made: [], data: null };
  }

  fill(kept, row) {
    kept.data = row;
    this.columns.forEach((column, index) => {
      const cell = kept.cells[index];
      if (column.text) {
        say(cell, column.text(row));
        return;
      }
      kept.made[index] ??= column.cell(() => kept.data);
      const made = kept.made[index];
      if (made.element.parentNode !== cell) cell.replaceChildren(made.element);
      made.update?.(row);
    });
  }
}

// A cell with a word and a colour: good, busy, bad or none.
export const badge = (text, colour) => () => {
  const element = make("span", { class: "badge" });
  return {
    element,
    update(row) {
      say(element, text(row));
      element.dataset.colour = colour(row);
    },
  };
};

// A cell with a button, whose title may depend on the row; `label` says aloud what it is for.
export const button = (title, label, press, { look = "small", shown = () => true } = {}) => (data) => {
  const element = make("button", { type: "button", class: look, onclick: () => press(data()) });
  return {
    element,
    update(row) {
      say(element, typeof title === "string" ? title : title(row));
      element.setAttribute("aria-label", label(row));
      element.hidden = !shown(row);
    },
  };
};

// A cell with several others in it.
export const together = (...cells) => (data) => {
  const made = cells.map((cell) => cell(data));
  return {
    element: make("span", { class: "together" }, ...made.map((one) => one.element)),
    update(row) { for (const one of made) one.update(row); },
  };
};
