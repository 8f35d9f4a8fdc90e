// Latencies by tool and by method: since the start, and of the last minute.

import { Chart, Series, bars } from "./charts.js";
import { count, make, milliseconds, rate } from "./elements.js";
import { difference, quantile } from "./histograms.js";
import { Table } from "./tables.js";

const WINDOW = 60; // seconds

export class Latency {
  id = "latency";
  title = "Latency";

  constructor() {
    this.past = []; // states of the last minute
    this.series = { latency: {}, methods: {} }; // by name
    this.tools = table("Latency by tool", "No tool was called yet.", true);
    this.methods = table("Latency by method", "No request came yet.", false);
    this.element = make("section", { class: "view", "aria-labelledby": "latency-title" },
      make("div", { class: "view-head" }, make("h1", { id: "latency-title" }, "Latency"),
        make("p", { class: "remark" }, "Quantiles and rates are of the last minute; calls and errors since the start.")),
      make("h2", {}, "Tools"), this.tools.element,
      make("h2", {}, "Methods"), this.methods.element);
  }

  badge() { return null; }

  update(state) {
    if (state !== this.past.at(-1)) this.note(state); // the same one comes again when its tab is clicked
    if (this.element.hidden) return;
    const seconds = state.at_unix - this.past[0].at_unix;
    this.tools.show(rows(state.latency, this.past[0].latency, seconds, this.series.latency));
    this.methods.show(rows(state.methods, this.past[0].methods, seconds, this.series.methods));
  }

  note(state) {
    const before = this.past.at(-1);
    if (before?.started_at_unix !== state.started_at_unix) this.past = [];
    else for (const part of ["latency", "methods"]) this.extend(part, state[part], before[part]);
    this.past.push(state);
    while (this.past.length > 2 && state.at_unix - this.past[0].at_unix > WINDOW) this.past.shift();
  }

  // The p95 of the calls since the last state, for the chart of each row.
  extend(part, now, before) {
    for (const [name, row] of Object.entries(now.rows)) {
      const counts = difference(row.counts, before.rows[name]?.counts);
      const called = counts.some((number) => number > 0);
      this.series[part][name] ??= new Series();
      this.series[part][name].add(called ? quantile(now.bounds_ms, counts, 0.95) : null);
    }
  }
}

function rows(now, before, seconds, series) {
  return Object.entries(now.rows)
    .sort(([, one], [, other]) => other.count - one.count)
    .map(([name, row]) => {
      const counts = difference(row.counts, before.rows[name]?.counts);
      const number = counts.reduce((sum, one) => sum + one, 0);
      const of = (share) => (number ? quantile(now.bounds_ms, counts, share) : null);
      const failed = Object.entries(row.outcomes ?? {}).filter(([outcome]) => !["ok", "task", "input_required"].includes(outcome));
      return {
        name, row, series: series[name], p50: of(0.5), p95: of(0.95), p99: of(0.99), rate: seconds > 0 ? number / seconds : 0,
        failed: failed.map(([outcome, many]) => `${count(many)} ${outcome}`).join(", "),
      };
    });
}

function table(caption, empty, withErrors) {
  const columns = [
    { title: caption.includes("tool") ? "Tool" : "Method", kind: "code", wide: true, text: (line) => line.name },
    { title: "Calls", number: true, text: (line) => count(line.row.count) },
    { title: "Rate", number: true, text: (line) => rate(line.rate) },
    { title: "p50", number: true, text: (line) => milliseconds(line.p50) },
    { title: "p95", number: true, text: (line) => milliseconds(line.p95) },
    { title: "p99", number: true, text: (line) => milliseconds(line.p99) },
    { title: "Mean", number: true, text: (line) => milliseconds(line.row.sum_ms / line.row.count) },
    { title: "p95, two minutes", cell: course },
    { title: "Distribution", cell: distribution },
  ];
  if (withErrors) columns.push({ title: "Not ok", wide: true, text: (line) => line.failed || "none" });
  return new Table({ caption, empty, key: (line) => line.name, columns });
}

function distribution() {
  const element = make("span", { class: "distribution" });
  let shown = "";
  return {
    element,
    update(line) {
      const text = line.row.counts.join();
      if (text === shown) return;
      shown = text;
      element.replaceChildren(bars(line.row.counts));
    },
  };
}

function course() {
  const chart = new Chart(["p95"], { height: 22, label: "Latency", format: milliseconds });
  return {
    element: make("span", { class: "course" }, chart.element),
    update(line) {
      if (line.series === undefined) return;
      chart.label = `Latency of ${line.name}`;
      chart.show([line.series]);
    },
  };
}
