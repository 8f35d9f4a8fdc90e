// Counters since the start, and the limits that the server keeps to.

import { bytes, count, make, rate, words } from "./elements.js";
import { Table } from "./tables.js";

const WINDOW = 10; // seconds over which rates are counted

export class Counters {
  id = "counters";
  title = "Counters";

  constructor() {
    this.past = [];
    const columns = (name, value) => [
      { title: name, wide: true, text: (row) => words(row.name) },
      { title: value, number: true, text: (row) => row.value },
    ];
    const table = (caption, empty, found) => new Table({ caption, empty, key: (row) => row.name, columns: found });
    const rated = [...columns("Counter", "Count"), { title: "Rate", number: true, text: (row) => rate(row.rate) }];
    this.stats = table("Counters", "Nothing is counted yet.", rated);
    const none = "The server has asked no client for anything.";
    this.asked = table("Requests to clients", none, columns("Kind and outcome", "Count"));
    this.refused = table("Refused requests", "None since the start.", columns("Reason", "Count"));
    this.workers = table("Workers and nodes", "Nothing happened to workers or other nodes.", columns("Event", "Count"));
    this.limits = table("Limits", "No limits.", columns("Limit", "Value"));
    const panel = (title, found) => make("div", { class: "panel" }, make("h2", {}, title), found.element);
    this.element = make("section", { class: "view", "aria-labelledby": "counters-title" },
      make("div", { class: "view-head" }, make("h1", { id: "counters-title" }, "Counters"),
        make("p", { class: "remark" }, "Since the start of the process; rates are of the last ten seconds.")),
      make("div", { class: "panels thirds" },
        panel("Runtime", this.stats),
        make("div", { class: "stack" },
          panel("Refused requests", this.refused),
          panel("Requests to clients", this.asked),
          panel("Workers and nodes", this.workers)),
        panel("Limits", this.limits)));
  }

  badge() { return null; }

  update(state) {
    if (this.past.at(-1)?.started_at_unix !== state.started_at_unix) this.past = [];
    this.past.push(state);
    while (this.past.length > 2 && state.at_unix - this.past[0].at_unix > WINDOW) this.past.shift();
    if (this.element.hidden) return;
    const [before] = this.past;
    const seconds = Math.max(state.at_unix - before.at_unix, 0.001);
    this.stats.show(Object.entries(state.stats).map(([name, value]) =>
      ({ name, value: count(value), rate: (value - (before.stats[name] ?? 0)) / seconds })));
    this.asked.show(Object.entries(state.client_requests).flatMap(([kind, outcomes]) =>
      Object.entries(outcomes).map(([outcome, value]) => ({ name: `${kind} ${outcome}`, value: count(value) }))));
    this.refused.show(Object.entries(state.refused).map(([name, value]) => ({ name, value: count(value) })));
    const parts = [
      ["worker", state.worker_events], ["failed calls,", state.worker_failures], ["not forwarded,", state.forwards_failed],
    ];
    this.workers.show(parts.flatMap(([what, counted]) =>
      Object.entries(counted).map(([name, value]) => ({ name: `${what} ${name}`, value: count(value) }))));
    this.limits.show(Object.entries(state.limits).map(([name, value]) => ({ name, value: limit(name, value) })));
  }
}

function limit(name, value) {
  if (Array.isArray(value)) return value.length ? value.join(", ") : "this machine's";
  if (name.endsWith("_bytes")) return bytes(value);
  return typeof value === "number" ? count(value) : String(value);
}
