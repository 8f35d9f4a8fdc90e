// Sessions: one page of them, filtered and sorted by the server, so that thousands cost no more than fifty.

import { act, ask } from "./connection.js";
import { confirm, details } from "./dialogs.js";
import { bytes, count, make, many, moment, nodes, say, span, toast } from "./elements.js";
import { Table, button } from "./tables.js";

const SIZES = [25, 50, 100, 250];
const PATIENCE = 250; // milliseconds after the last key before a filter counts

export class Sessions {
  id = "sessions";
  title = "Sessions";

  constructor() {
    this.query = { sort: "started", order: "asc", limit: 50, offset: 0 };
    this.versions = new Set();
    this.now = 0;
    this.running = false;
    this.table = new Table({
      caption: "Sessions",
      empty: "No session fits.",
      key: (row) => `${row.node} ${row.id}`,
      onSort: (sort) => this.sort(sort),
      columns: [
        { title: "Session", kind: "code", cell: this.detailsButton() },
        { title: "Client", wide: true, text: (row) => [row.client_name || "unnamed", row.client_version].join(" ") },
        { title: "Principal", sort: "principal", wide: true, text: (row) => row.principal },
        { title: "Node", text: (row) => row.node ?? "this one" },
        { title: "Protocol", sort: "protocol_version", text: (row) => row.protocol_version },
        { title: "Age", sort: "started", number: true, text: (row) => span(this.now - row.started_at_unix) },
        { title: "Idle", sort: "last_activity", number: true, text: (row) => span(this.now - row.last_activity_unix) },
        { title: "Streams", sort: "streams", number: true, text: (row) => count(row.streams) },
        { title: "Calls", sort: "calls", number: true, text: (row) => count(row.calls_in_flight) },
        { title: "Waiting", sort: "pending", number: true, text: (row) => waiting(row) },
        { title: "Action", cell: this.kickButton() },
      ],
    });
    this.table.mark(this.query.sort, this.query.order);
    this.element = make("section", { class: "view", "aria-labelledby": "sessions-title" },
      make("div", { class: "view-head" },
        make("h1", { id: "sessions-title" }, "Sessions"),
        this.summary = make("p", { class: "remark", id: "sessions-summary" })),
      this.filters(),
      this.table.element,
      this.pager());
  }

  detailsButton() {
    const label = (row) => `Details of session ${row.id}`;
    return button((row) => row.id, label, (row) => this.details(row), { look: "link" });
  }

  kickButton() {
    return button("Kick", (row) => `Kick session ${row.id}`, (row) => this.kick(row), { look: "small danger-text" });
  }

  filters() {
    const later = (change) => {
      let timer = 0;
      return (event) => {
        clearTimeout(timer);
        timer = setTimeout(() => change(event.target), PATIENCE);
      };
    };
    const change = (name) => (field) => this.change({ [name]: field.value.trim() });
    const text = (name, title, hint) => make("div", { class: "field" },
      make("label", { for: `filter-${name}` }, title),
      make("input", {
        id: `filter-${name}`, type: "search", placeholder: hint, maxlength: 200,
        spellcheck: "false", autocomplete: "off", oninput: later(change(name)),
      }));
    this.version = make("select", {
      id: "filter-version", onchange: (event) => this.change({ protocol_version: event.target.value }),
    }, make("option", { value: "" }, "Any"));
    const connected = make("input", {
      id: "filter-connected", type: "checkbox",
      onchange: (event) => this.change({ connected: event.target.checked ? "1" : "" }),
    });
    const sizes = SIZES.map((number) =>
      make("option", { value: number, selected: number === this.query.limit }, String(number)));
    const size = make("select", {
      id: "filter-limit", onchange: (event) => this.change({ limit: Number(event.target.value) }),
    }, ...sizes);
    const form = {
      class: "filters", role: "search", "aria-label": "Filter sessions", onsubmit: (event) => event.preventDefault(),
    };
    return make("form", form,
      text("session_id", "Session", "begins with"),
      text("principal", "Principal", "token or address"),
      make("div", { class: "field" }, make("label", { for: "filter-version" }, "Protocol"), this.version),
      make("div", { class: "field" }, make("label", { for: "filter-limit" }, "Rows"), size),
      make("label", { class: "check", for: "filter-connected" }, connected, "With a stream"));
  }

  pager() {
    this.previous = make("button", { type: "button", class: "plain", onclick: () => this.turn(-1) }, "Previous");
    this.next = make("button", { type: "button", class: "plain", onclick: () => this.turn(1) }, "Next");
    this.where = make("span", { "aria-live": "off" });
    return make("nav", { class: "pager", "aria-label": "Pages of sessions" }, this.previous, this.where, this.next);
  }

  change(values) {
    Object.assign(this.query, { offset: 0 }, values);
    this.refresh();
  }

  sort(sort) {
    const order = this.query.sort === sort && this.query.order === "asc" ? "desc" : "asc";
    this.table.mark(sort, order);
    this.change({ sort, order });
  }

  turn(pages) {
    this.query.offset = Math.max(0, this.query.offset + pages * this.query.limit);
    this.refresh();
  }

  badge(state) { return count(nodes(state).reduce((sum, [, one]) => sum + one.active_mcp_sessions, 0)); }

  async update(state) {
    this.now = state.at_unix;
    this.most = state.limits.max_sessions;
    if (!this.element.hidden) await this.refresh();
  }

  async refresh() {
    if (this.running) { this.again = true; return; }
    this.running = true;
    try {
      const query = new URLSearchParams({ details: "1", nodes: "all" });
      for (const [name, value] of Object.entries(this.query)) if (value !== "") query.set(name, value);
      const { offset } = this.query; // which may be another one when the answer comes
      this.show(await ask(`/admin/runtime/mcp?${query}`), offset);
    } catch (error) {
      say(this.summary, error.message);
    } finally {
      this.running = false;
    }
    if (this.again) { this.again = false; await this.refresh(); }
  }

  show(found, offset) {
    for (const version of Object.keys(found.protocol_versions)) {
      if (this.versions.has(version)) continue;
      this.versions.add(version);
      this.version.append(make("option", { value: version }, version));
    }
    if (found.returned_sessions === 0 && found.active_sessions > 0 && offset > 0) {
      if (this.query.offset === offset) this.query.offset = Math.max(0, (Math.ceil(found.active_sessions / this.query.limit) - 1) * this.query.limit);
      this.again = true;
      return;
    }
    this.table.show(found.sessions);
    const last = offset + found.returned_sessions;
    const rows = `${count(offset + 1)}–${count(last)} of ${count(found.active_sessions)}`;
    say(this.where, found.active_sessions ? rows : "none");
    this.previous.disabled = offset === 0;
    this.next.disabled = last >= found.active_sessions;
    const filtered = found.session_id || found.principal || found.protocol_version || this.query.connected;
    say(this.summary, `${count(found.active_sessions)} ${filtered ? "fit the filter" : "open"}, `
      + `${count(found.max_sessions)} at most; unused ones end after ${span(found.session_ttl_seconds)}`
      + (found.problems ?? []).map((problem) => `; ${problem}`).join(""));
  }

  details(row) {
    const kick = make("button", { type: "button", class: "danger", onclick: () => this.kick(row) }, "Kick");
    details(`Session ${row.id}`, [
      ["Client", [row.client_name || "unnamed", row.client_version].join(" ")],
      ["Principal", row.principal, "code"],
      ["Node", row.node ?? "this one"],
      ["Protocol", row.protocol_version],
      ["Began", moment(row.started_at_unix)],
      ["Last used", moment(row.last_activity_unix)],
      ["Handshake", row.initialized ? "complete" : "not confirmed by the client"],
      ["Open streams", count(row.streams)],
      ["Calls in flight", count(row.calls_in_flight)],
      ["Waiting", `${many(row.pending_count, "message")}, ${bytes(row.pending_bytes)}`],
      ["Path", row.path, "code"],
      ["Capabilities", row.client_capabilities_json, "code"],
    ], [kick]);
  }

  async kick(row) {
    const whom = `${row.client_name || "An unnamed client"} of ${row.principal}, `
      + `${many(row.calls_in_flight, "call")} in flight, ${many(row.streams, "open stream")}.`;
    const what = "Its calls and streams end now. The client's next request gets 404, and it may begin a new session.";
    if (!await confirm(`Kick session ${row.id}?`, [whom, what], "Kick session")) return;
    try {
      const done = await act("/admin/sessions/kick", { session_id: row.id });
      toast(`Session ${done.target}: ${done.said}.`);
    } catch (error) {
      toast(error.message, true);
    }
    await this.refresh();
  }
}

const waiting = (row) => (row.pending_count ? `${count(row.pending_count)} · ${bytes(row.pending_bytes)}` : "0");
