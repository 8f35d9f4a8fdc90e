// Latencies by tool and by method, of this server or of each node.

import { bars } from "./charts.js";
import { count, make, milliseconds, nodes, rate } from "./elements.js";
import { Table } from "./tables.js";

const WINDOW = 60; // seconds
const FINE = ["ok", "task", "input_required"];

export class Latency {
  id = "latency";
  title = "Latency";

  constructor() {
    this.past = []; // states of the last minute
    this.tools = table("Latency by tool", "No tool was called yet.", true);
    this.methods = table("Latency by method", "No request came yet.", false);
    this.element = make("section", { class: "view", "aria-labelledby": "latency-title" },
      make("div", { class: "view-head" }, make("h1", { id: "latency-title" }, "Latency"),
        make("p", { class: "remark" }, "Quantiles are exact, of the last 1,000 calls of a row; rates are of the last minute; "
          + "calls, means and errors since the start.")),
      make("h2", {}, "Tools"), this.tools.element,
      make("h2", {}, "Methods"), this.methods.element);
  }

  badge() { return null; }

  update(state) {
    if (state !== this.past.at(-1)) this.note(state); // the same one comes again when its tab is clicked
    if (this.element.hidden) return;
    this.tools.show(rows("latency", state, this.past[0]));
    this.methods.show(rows("methods", state, this.past[0]));
  }

  note(state) {
    if (this.past.at(-1)?.started_at_unix !== state.started_at_unix) this.past = [];
    this.past.push(state);
    while (this.past.length > 2 && state.at_unix - this.past[0].at_unix > WINDOW) this.past.shift();
  }
}

function rows(part, now, before) {
  const earlier = Object.fromEntries(nodes(before));
  const seconds = now.at_unix - before.at_unix;
  return nodes(now)
    .flatMap(([node, state]) => Object.entries(state[part].rows).map(([name, row]) => {
      const number = earlier[node] ? Math.max(0, row.count - (earlier[node][part].rows[name]?.count ?? 0)) : 0;
      const failed = Object.entries(row.outcomes ?? {}).filter(([outcome]) => !FINE.includes(outcome));
      return {
        node, name, row, rate: seconds > 0 ? number / seconds : 0,
        failed: failed.map(([outcome, many]) => `${count(many)} ${outcome}`).join(", "),
      };
    }))
    .sort((one, other) => other.row.count - one.row.count);
}

function table(caption, empty, withErrors) {
  const columns = [
    { title: caption.includes("tool") ? "Tool" : "Method", kind: "code", wide: true, text: (line) => line.name },
    { title: "Node", text: (line) => line.node || "this one" },
    { title: "Calls", number: true, text: (line) => count(line.row.count) },
    { title: "Rate", number: true, text: (line) => rate(line.rate) },
    { title: "p50", number: true, text: (line) => milliseconds(line.row.p50_ms) },
    { title: "p95", number: true, text: (line) => milliseconds(line.row.p95_ms) },
    { title: "p99", number: true, text: (line) => milliseconds(line.row.p99_ms) },
    { title: "Of the last", number: true, text: (line) => count(line.row.window_calls) },
    { title: "Mean", number: true, text: (line) => milliseconds(line.row.sum_ms / line.row.count) },
    { title: "Distribution", cell: distribution },
  ];
  if (withErrors) columns.push({ title: "Not ok", wide: true, text: (line) => line.failed || "none" });
  return new Table({ caption, empty, key: (line) => `${line.node} ${line.name}`, columns });
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
