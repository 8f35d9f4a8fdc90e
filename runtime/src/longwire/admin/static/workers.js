// Method workers: what each does, and draining or restarting one.

import { act } from "./connection.js";
import { confirm } from "./dialogs.js";
import { count, make, many, say, span, toast } from "./elements.js";
import { Table, badge, button, together } from "./tables.js";

export const COLOURS = { ready: "good", starting: "busy", draining: "busy", waiting: "bad", ended: "none" };

export class Workers {
  id = "workers";
  title = "Workers";

  constructor() {
    this.now = 0;
    this.canRestart = false;
    this.summary = make("p", { class: "remark" });
    this.table = new Table({
      caption: "Method workers",
      empty: "This server answers calls in its own process. With --method-workers it has workers.",
      key: (worker) => worker.id,
      columns: [
        { title: "Worker", kind: "code", text: (worker) => worker.id },
        { title: "State", cell: badge((worker) => worker.state, (worker) => COLOURS[worker.state] ?? "none") },
        { title: "Name", wide: true, text: (worker) => worker.name || "–" },
        { title: "In flight", number: true, text: (worker) => count(worker.in_flight) },
        { title: "Served", number: true, text: (worker) => count(worker.served) },
        { title: "Restarts", number: true, text: (worker) => count(worker.restarts) },
        { title: "Since", number: true, text: (worker) => span(this.now - worker.since) },
        { title: "PID", number: true, text: (worker) => worker.pid ?? "–" },
        { title: "Problem", wide: true, text: (worker) => worker.problem ?? "none" },
        { title: "Actions", cell: together(this.drainButton(), this.restartButton()) },
      ],
    });
    this.element = make("section", { class: "view", "aria-labelledby": "workers-title" },
      make("div", { class: "view-head" }, make("h1", { id: "workers-title" }, "Workers"), this.summary),
      this.table.element);
  }

  drainButton() {
    const shown = (worker) => worker.state === "ready";
    return button("Drain", (worker) => `Drain worker ${worker.id}`, (worker) => this.drain(worker), { shown });
  }

  restartButton() {
    const options = { look: "small danger-text", shown: () => this.canRestart };
    return button("Restart", (worker) => `Restart worker ${worker.id}`, (worker) => this.restart(worker), options);
  }

  badge(state) { return state.workers.enabled ? count(state.workers.workers.length) : null; }

  update(state) {
    const { workers } = state;
    this.now = state.at_unix;
    this.canRestart = workers.can_restart;
    const ready = workers.workers.filter((worker) => worker.state === "ready").length;
    const told = `${count(ready)} of ${count(workers.workers.length)} ready, ${many(workers.queued, "call")} waiting`;
    say(this.summary, workers.enabled ? told : "");
    this.table.show(workers.workers);
  }

  async drain(worker) {
    const sentence = `It finishes ${many(worker.in_flight, "call")} and ends; another takes its place.`;
    await this.ask(`Drain worker ${worker.id}?`, sentence, "Drain worker", "/admin/workers/drain", worker);
  }

  async restart(worker) {
    const sentence = `${many(worker.in_flight, "call")} in flight will fail. To let such calls finish, drain it instead.`;
    await this.ask(`Restart worker ${worker.id}?`, sentence, "Restart worker", "/admin/workers/restart", worker);
  }

  async ask(title, sentence, agree, path, worker) {
    if (!await confirm(title, [sentence], agree)) return;
    try {
      const done = await act(path, { worker: worker.id });
      toast(`Worker ${done.target}: ${done.said}.`);
    } catch (error) {
      toast(error.message, true);
    }
  }
}
