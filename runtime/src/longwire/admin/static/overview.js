// The overview: the figures that tell at a glance whether the server is well.

import { Chart, Series, Tile } from "./charts.js";
import { ask } from "./connection.js";
import { bytes, count, make, many, milliseconds, nodes, rate, say, share, short, words } from "./elements.js";
import { COLOURS } from "./workers.js";

const PERIOD = 10; // seconds between two points of the history
// What each tile draws of a point of the history.
const DRAWN = {
  sessions: (point) => point.sessions,
  streams: (point) => point.streams,
  requests: (point) => point.requests / PERIOD,
  errors: (point) => portion(point.errors + point.refused, point.requests + point.refused),
  latency: (point) => point.p95_ms,
  flight: (point) => point.in_flight,
  pending: (point) => point.pending,
  jobs: (point) => point.jobs,
};
const portion = (part, whole) => (whole > 0 ? part / whole : null);
const sum = (states, of) => states.reduce((total, state) => total + of(state), 0);
const highest = (values) => values.reduce((most, value) => (value === null ? most : Math.max(most ?? value, value)), null);
// Of one node, since its start: requests that were answered, calls that failed, requests that were refused.
const counted = (state) => [
  sum(Object.values(state.methods.rows), (row) => row.count),
  state.errors_total,
  sum(Object.values(state.refused), (number) => number),
];

export class Overview {
  id = "overview";
  title = "Overview";

  constructor() {
    this.before = null;
    this.history = 0; // when it was asked for
    this.tiles = {
      sessions: new Tile("Sessions", { format: short, href: "#sessions" }),
      streams: new Tile("Listening streams", { format: short, href: "#streams" }),
      requests: new Tile("Requests", { format: rate, href: "#latency" }),
      errors: new Tile("Errors and refusals", { format: share, href: "#counters" }),
      latency: new Tile("Request p95", { format: milliseconds, href: "#latency" }),
      flight: new Tile("In flight", { format: short }),
      pending: new Tile("Waiting messages", { format: short, href: "#sessions" }),
      jobs: new Tile("Jobs running", { format: short, href: "#jobs" }),
    };
    this.refused = make("ul", { class: "pills" });
    this.nodes = make("ul", { class: "pills" });
    this.workers = make("ul", { class: "pills" });
    this.workersBox = make("div", { class: "panel" }, make("h2", {}, "Workers"), this.workers);
    this.nodesProblem = make("p", { class: "problem" });
    this.nodesBox = make("div", { class: "panel" }, make("h2", {}, "Nodes"), this.nodes, this.nodesProblem);
    this.chart = new Chart(["p50", "p95"], {
      height: 120, label: "Latency of requests", format: milliseconds, rules: [0, 0.25, 0.5, 0.75, 1],
    });
    this.scale = make("p", { class: "remark" });
    this.element = make("section", { class: "view", "aria-labelledby": "overview-title" },
      make("div", { class: "view-head" }, make("h1", { id: "overview-title" }, "Overview")),
      make("div", { class: "tiles" }, ...Object.values(this.tiles).map((tile) => tile.element)),
      make("div", { class: "panels two" },
        make("div", { class: "panel broad" }, make("h2", {}, "Latency of requests, last hour"),
          make("div", { class: "legend" },
            make("span", { class: "key key-1" }, "p50"), make("span", { class: "key key-2" }, "p95"), this.scale),
          this.chart.element),
        make("div", { class: "stack halves" },
          this.workersBox,
          this.nodesBox,
          make("div", { class: "panel" }, make("h2", {}, "Refused requests"), this.refused))));
  }

  badge() { return null; }

  update(state) {
    if (state === this.before) return; // shown again, as when a tab is clicked: no time has passed
    const states = nodes(state).map(([, one]) => one);
    const recent = this.recent(state);
    const { tiles } = this;
    const here = (number) => (states.length > 1 ? `, ${short(number)} here` : "");
    const all = (of) => sum(states, of);
    const subscriptions = all((one) => one.open_subscriptions);
    const window = all((one) => one.methods.all.window_calls);
    tiles.sessions.say(all((one) => one.active_mcp_sessions),
      `of ${short(all((one) => one.limits.max_sessions))}${here(state.active_mcp_sessions)}`);
    tiles.streams.say(all((one) => one.open_streams), subscriptions ? `${count(subscriptions)} subscriptions` : "");
    tiles.requests.say(recent.rate);
    tiles.errors.say(recent.errors, recent.failed ? `${count(recent.failed)} just now` : "");
    tiles.latency.say(highest(states.map((one) => one.methods.all.p95_ms)), window ? `of the last ${short(window)}` : "");
    tiles.flight.say(all((one) => one.requests_in_flight),
      `of ${short(all((one) => one.limits.max_calls))}, ${many(all((one) => one.connections), "connection")}`);
    tiles.pending.say(all((one) => one.pending_messages), bytes(all((one) => one.pending_bytes)));
    tiles.jobs.say(all((one) => one.jobs.running), `${count(all((one) => one.jobs.queued))} queued`);
    this.lists(state);
    if (state.at_unix - this.history >= PERIOD) {
      this.history = state.at_unix;
      this.draw();
    }
  }

  // The server keeps the history: it is there however long nobody looked.
  async draw() {
    let points = [];
    try {
      ({ points } = await ask("/admin/history?nodes=all"));
    } catch { return; }
    for (const [name, of] of Object.entries(DRAWN)) this.tiles[name].draw(points.map(of));
    const [p50, p95] = ["p50_ms", "p95_ms"].map((name) => new Series(points.map((point) => point[name])));
    this.chart.show([p50, p95]);
    say(this.scale, p95.most === null ? "each point of 10 s" : `each point of 10 s, highest ${milliseconds(p95.most)}`);
  }

  // Figures of the seconds since the last state.
  recent(state) {
    const before = this.before;
    this.before = state;
    if (before === null || before.started_at_unix !== state.started_at_unix) return { rate: null, errors: null, failed: 0 };
    const then = Object.fromEntries(nodes(before));
    const added = [0, 0, 0];
    for (const [label, one] of nodes(state)) {
      if (then[label] === undefined) continue; // it came just now
      const earlier = counted(then[label]);
      counted(one).forEach((number, index) => { added[index] += Math.max(0, number - earlier[index]); });
    }
    const [requests, errors, refused] = added;
    const failed = errors + refused;
    const seconds = Math.max(state.at_unix - before.at_unix, 0.001);
    return { rate: requests / seconds, errors: portion(failed, requests + refused), failed };
  }

  lists(state) {
    const refused = Object.entries(nodes(state).reduce((found, [, one]) => {
      for (const [reason, number] of Object.entries(one.refused)) found[reason] = (found[reason] ?? 0) + number;
      return found;
    }, {}));
    pills(this.refused, refused.map(([reason, number]) => [words(reason), count(number), "none"]), "None since the start.");
    this.workersBox.hidden = !state.workers.enabled;
    pills(this.workers, state.workers.workers.map((worker) => [worker.id, worker.state, COLOURS[worker.state] ?? "none"]), "None.");
    const { cluster } = state;
    this.nodesBox.hidden = cluster === null;
    if (cluster === null) return;
    const told = Object.fromEntries(nodes(state));
    pills(this.nodes, cluster.nodes.map((node) => {
      const one = told[node.label];
      const figures = one && node.state === "alive"
        ? `${many(one.active_mcp_sessions, "session")}, p95 ${milliseconds(one.methods.all.p95_ms)}` : node.state;
      return [node.here ? `${node.label} (this one)` : node.label, figures, { alive: "good", gone: "bad" }[node.state] ?? "busy"];
    }), "None are known yet.");
    const problems = Object.values(cluster.others).map((one) => one.problem);
    say(this.nodesProblem, [cluster.problem, ...problems].filter(Boolean).join("; "));
  }
}

// A list of names with a value each.
export function pills(list, entries, empty) {
  const text = JSON.stringify(entries);
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...(entries.length ? entries : [[empty, "", "none"]]).map(([name, value, colour]) =>
    make("li", { class: "pill", "data-colour": colour }, make("span", {}, name), value === "" ? null : make("b", {}, value))));
}
