// Views that ask the server for a list while they are shown: streams, jobs and the audit.

import { ask } from "./connection.js";
import { count, make, many, moment, say, span } from "./elements.js";
import { Table, badge } from "./tables.js";

class Listed {
  constructor(id, title, path, table, rows, summary) {
    this.id = id;
    this.title = title;
    this.path = path;
    this.table = table;
    this.rows = rows;
    this.summarise = summary;
    this.running = false;
    this.summary = make("p", { class: "remark" });
    this.element = make("section", { class: "view", "aria-labelledby": `${id}-title` },
      make("div", { class: "view-head" }, make("h1", { id: `${id}-title` }, title), this.summary),
      table.element);
  }

  badge() { return null; }

  async update(state) {
    if (this.element.hidden || this.running) return;
    this.running = true;
    try {
      const found = await ask(this.path);
      this.table.show(this.rows(found));
      say(this.summary, this.summarise(found, state));
    } catch (error) {
      say(this.summary, error.message);
    } finally {
      this.running = false;
    }
  }
}

const KINDS = { get: ["listens", "none"], request: ["call", "busy"] };
const READING = { true: ["reads", "good"], false: ["doesn't read", "bad"] };

export class Streams extends Listed {
  constructor() {
    super("streams", "Streams", "/admin/streams?limit=200", new Table({
      caption: "Open event streams of sessions",
      empty: "No session has an open event stream.",
      key: (row) => `${row.session_id} ${row.stream}`,
      columns: [
        { title: "Session", kind: "code", text: (row) => row.session_id },
        { title: "Principal", wide: true, text: (row) => row.principal },
        { title: "Kind", cell: badge((row) => KINDS[row.kind][0], (row) => KINDS[row.kind][1]) },
        { title: "Stream", number: true, text: (row) => row.stream },
        { title: "Request id", kind: "code", text: (row) => row.request_id ?? "–" },
        { title: "Waiting", number: true, text: (row) => count(row.waiting) },
        { title: "Client", cell: badge((row) => READING[row.reading][0], (row) => READING[row.reading][1]) },
      ],
    }), (found) => found.streams, (found, state) => {
      const listening = Math.min(state.open_get_streams, found.open_streams);
      const shown = found.open_streams > found.returned_streams ? `, the first ${count(found.returned_streams)} shown` : "";
      return `${count(listening)} listening, ${count(found.open_streams - listening)} of calls${shown}; `
        + `${many(state.open_subscriptions, "subscription")} without a session`;
    });
  }

  badge(state) { return count(state.open_streams); }
}

const STATUSES = {
  queued: "none", running: "busy", completed: "good", failed: "bad", cancelled: "none", interrupted: "bad",
};

export class Jobs extends Listed {
  constructor() {
    super("jobs", "Jobs", "/admin/jobs?limit=100", new Table({
      caption: "The newest jobs",
      empty: "No job was submitted yet.",
      key: (job) => job.id + job.created_at_unix,
      columns: [
        { title: "Job", kind: "code", text: (job) => job.id },
        { title: "Status", cell: badge((job) => job.status, (job) => STATUSES[job.status] ?? "none") },
        { title: "Tool", kind: "code", text: (job) => job.tool },
        { title: "What", wide: true, text: (job) => job.title },
        { title: "Client", wide: true, text: (job) => job.client },
        { title: "Progress", cell: progress },
        { title: "Created", number: true, text: (job) => moment(job.created_at_unix) },
        { title: "Ran", number: true, text: (job) => ran(job) },
        { title: "Error", wide: true, text: (job) => job.error ?? "none" },
      ],
    }), (found) => found.jobs, (found, state) => {
      const { jobs } = state;
      return `${count(jobs.running)} running, ${count(jobs.queued)} queued, ${count(jobs.workers)} processes; `
        + `since the start ${count(jobs.completed)} completed, ${count(jobs.failed)} failed, `
        + `${count(jobs.cancelled)} cancelled${found.more ? "; the newest 100 shown" : ""}`;
    });
  }

  badge(state) { return count(state.jobs.running + state.jobs.queued); }
}

function ran(job) {
  if (job.started_at_unix === null) return job.queue_position === null ? "–" : `place ${count(job.queue_position)}`;
  return span((job.finished_at_unix ?? Date.now() / 1000) - job.started_at_unix);
}

function progress() {
  const bar = make("progress", { max: 1 });
  const text = make("span");
  const element = make("span", { class: "progress" }, bar, text);
  return {
    element,
    update(job) {
      const known = job.done !== null && job.total;
      bar.hidden = !known;
      if (known) {
        bar.value = job.done / job.total;
        bar.setAttribute("aria-label", `Progress of job ${job.id}`);
      }
      say(text, known ? `${Math.round((100 * job.done) / job.total)} %` : "–");
    },
  };
}

const OUTCOMES = { done: "good", refused: "busy", failed: "bad" };

export class AuditTrail extends Listed {
  constructor() {
    super("audit", "Audit", "/admin/audit?nodes=all", new Table({
      caption: "What operators did, the newest first",
      empty: "No operator has done anything since the start.",
      key: (action) => `${action.node} ${action.number}`,
      columns: [
        { title: "When", text: (action) => moment(action.at_unix) },
        { title: "Node", text: (action) => action.node ?? "this one" },
        { title: "Who", text: (action) => action.who },
        { title: "From", kind: "code", text: (action) => action.address },
        { title: "Action", text: (action) => action.action },
        { title: "Target", kind: "code", text: (action) => action.target || "–" },
        { title: "Outcome", cell: badge((action) => action.outcome, (action) => OUTCOMES[action.outcome] ?? "none") },
        { title: "Said", wide: true, text: (action) => action.said },
      ],
    }), (found) => found.actions, (found) => `${count(found.total)} since the start, the last 200 are kept`);
  }

  badge(state) { return state.admin_actions_total ? count(state.admin_actions_total) : null; }
}
