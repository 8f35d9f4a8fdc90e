// The overview: the figures that tell at a glance whether the server is well.

import { Chart, Series, Tile } from "./charts.js";
import { bytes, count, make, milliseconds, rate, say, short, words } from "./elements.js";
import { difference, quantile, total } from "./histograms.js";
import { COLOURS } from "./workers.js";

export class Overview {
  id = "overview";
  title = "Overview";

  constructor() {
    this.before = null;
    this.tiles = {
      sessions: new Tile("Sessions", { format: short, href: "#sessions" }),
      streams: new Tile("Listening streams", { format: short, href: "#streams" }),
      requests: new Tile("Requests", { format: rate, href: "#latency" }),
      latency: new Tile("Request p95", { format: milliseconds, href: "#latency" }),
      flight: new Tile("In flight", { format: short }),
      connections: new Tile("Connections", { format: short }),
      pending: new Tile("Waiting messages", { format: short, href: "#sessions" }),
      jobs: new Tile("Jobs running", { format: short, href: "#jobs" }),
    };
    this.refused = make("ul", { class: "pills" });
    this.nodes = make("ul", { class: "pills" });
    this.workers = make("ul", { class: "pills" });
    this.workersBox = make("div", { class: "panel" }, make("h2", {}, "Workers"), this.workers);
    this.nodesProblem = make("p", { class: "problem" });
    this.nodesBox = make("div", { class: "panel" }, make("h2", {}, "Nodes"), this.nodes, this.nodesProblem);
    this.p50 = new Series();
    this.p95 = new Series();
    this.chart = new Chart(["p50", "p95"], {
      height: 120, label: "Latency of requests", format: milliseconds, rules: [0, 0.25, 0.5, 0.75, 1],
    });
    this.scale = make("p", { class: "remark" });
    this.element = make("section", { class: "view", "aria-labelledby": "overview-title" },
      make("div", { class: "view-head" }, make("h1", { id: "overview-title" }, "Overview")),
      make("div", { class: "tiles" }, ...Object.values(this.tiles).map((tile) => tile.element)),
      make("div", { class: "panels two" },
        make("div", { class: "panel broad" }, make("h2", {}, "Latency of requests, last two minutes"),
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
    const recent = this.recent(state);
    const { tiles } = this;
    tiles.sessions.add(state.active_mcp_sessions, `of ${short(state.limits.max_sessions)}`);
    tiles.streams.add(state.open_streams, state.open_subscriptions ? `${count(state.open_subscriptions)} subscriptions` : "");
    tiles.requests.add(recent.rate);
    tiles.latency.add(recent.p95);
    tiles.flight.add(state.requests_in_flight, `of ${short(state.limits.max_calls)}`);
    tiles.connections.add(state.connections);
    tiles.pending.add(state.pending_messages, bytes(state.pending_bytes));
    tiles.jobs.add(state.jobs.running, `${count(state.jobs.queued)} queued`);
    this.p50.add(recent.p50);
    this.p95.add(recent.p95);
    this.chart.show([this.p50, this.p95]);
    say(this.scale, this.p95.most === null ? "" : `highest ${milliseconds(Math.max(this.p50.most, this.p95.most))}`);
    this.lists(state);
  }

  // Figures of the seconds since the last state.
  recent(state) {
    const before = this.before;
    this.before = state;
    if (before === null || before.started_at_unix !== state.started_at_unix) return { rate: null, p50: null, p95: null };
    const seconds = Math.max(state.at_unix - before.at_unix, 0.001);
    const rows = Object.entries(state.methods.rows);
    const counts = total(rows.map(([name, row]) => difference(row.counts, before.methods.rows[name]?.counts)));
    const number = counts.reduce((sum, one) => sum + one, 0);
    const bounds = state.methods.bounds_ms;
    return {
      rate: number / seconds,
      p50: number ? quantile(bounds, counts, 0.5) : null,
      p95: number ? quantile(bounds, counts, 0.95) : null,
    };
  }

  lists(state) {
    const refused = Object.entries(state.refused);
    pills(this.refused, refused.map(([reason, number]) => [words(reason), count(number), "none"]), "None since the start.");
    this.workersBox.hidden = !state.workers.enabled;
    pills(this.workers, state.workers.workers.map((worker) => [worker.id, worker.state, COLOURS[worker.state] ?? "none"]), "None.");
    const { cluster } = state;
    this.nodesBox.hidden = cluster === null;
    if (cluster === null) return;
    pills(this.nodes, cluster.nodes.map((node) =>
      [node.here ? `${node.label} (this one)` : node.label, node.state, { alive: "good", gone: "bad" }[node.state] ?? "busy"]),
    "None are known yet.");
    say(this.nodesProblem, cluster.problem ?? "");
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
