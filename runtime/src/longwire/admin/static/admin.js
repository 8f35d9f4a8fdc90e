// The page: the token, the views, and the state that the feed brings.

import { Feed, Unauthorized, ask, token } from "./connection.js";
import { Counters } from "./counters.js";
import { byId, focusHeading, make, say, span } from "./elements.js";
import { Latency } from "./latency.js";
import { AuditTrail, Jobs, Streams } from "./lists.js";
import { Overview } from "./overview.js";
import { Sessions } from "./sessions.js";
import { Workers } from "./workers.js";

const views = [
  new Overview(), new Sessions(), new Streams(), new Workers(), new Jobs(), new Latency(), new Counters(), new AuditTrail(),
];
const links = new Map();
let paused = false;
let last = null; // the newest state

const feed = new Feed({
  state: (state) => {
    last = state;
    if (!paused) show(state);
  },
  audit: () => {
    if (last !== null && !paused) views.at(-1).update(last);
  },
  status,
  unauthorized: (sentence) => login(sentence),
});

function status(state) {
  const texts = { live: paused ? "Paused" : "Live", reconnecting: "Reconnecting…", off: "Not connected" };
  byId("state").dataset.state = state === "live" && paused ? "paused" : state;
  say(byId("state-text"), texts[state]);
  document.body.dataset.state = state;
}

function show(state) {
  fact("version", `Acuity ${state.version}`);
  fact("uptime", `up ${span(state.uptime_seconds)}`);
  fact("pid", `process ${state.pid}`);
  fact("node", state.cluster === null ? "" : `node ${state.cluster.node}`);
  fact("ready", state.ready ? "" : "stopping or starting");
  for (const view of views) {
    view.update(state);
    const badge = view.badge(state);
    const shown = links.get(view.id).querySelector(".tab-badge");
    say(shown, badge ?? "");
    shown.hidden = badge === null;
  }
}

function fact(name, text) {
  const facts = byId("facts");
  let found = facts.querySelector(`[data-fact="${name}"]`);
  if (found === null) {
    found = make("span", { "data-fact": name });
    facts.append(found);
  }
  say(found, text);
}

function route() {
  const wanted = views.find((view) => `#${view.id}` === location.hash) ?? views[0];
  for (const view of views) {
    view.element.hidden = view !== wanted;
    const link = links.get(view.id);
    if (view === wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  links.get(wanted.id).scrollIntoView?.({ block: "nearest", inline: "nearest" });
  document.title = `${wanted.title} · Acuity runtime`;
  if (last !== null) wanted.update(last);
}

function login(sentence = "") {
  feed.stop();
  token.clear();
  status("off");
  for (const id of ["app", "pause", "leave"]) byId(id).hidden = true;
  byId("facts").replaceChildren();
  byId("login").hidden = false;
  say(byId("login-problem"), sentence);
  byId("token").focus();
}

function enter() {
  byId("login").hidden = true;
  for (const id of ["app", "pause", "leave"]) byId(id).hidden = false;
  status("reconnecting");
  say(byId("state-text"), "Connecting…");
  feed.start();
}

async function submitted(event) {
  event.preventDefault();
  const field = byId("token");
  const button = event.target.querySelector("button");
  token.set(field.value.trim());
  button.disabled = true;
  try {
    await ask("/admin/audit?limit=1");
    field.value = "";
    enter();
    focusHeading();
  } catch (error) {
    const sentence = error instanceof Unauthorized ? error.message : `The server can't be reached: ${error.message}`;
    login(sentence);
  } finally {
    button.disabled = false;
  }
}

function pause() {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  say(byId("pause"), paused ? "Resume" : "Pause");
  status(document.body.dataset.state);
  if (!paused && last !== null) show(last);
}

for (const view of views) {
  const badge = make("span", { class: "tab-badge", hidden: true });
  const link = make("a", { class: "tab", href: `#${view.id}` }, view.title, badge);
  links.set(view.id, link);
  byId("tabs").append(link);
  byId("main").append(view.element);
}
addEventListener("hashchange", route);
// A browser has six connections to a server: tabs that nobody sees leave theirs to others.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) feed.stop();
  else if (!byId("app").hidden) feed.start();
});
byId("login-form").addEventListener("submit", submitted);
byId("leave").addEventListener("click", () => login("Signed out."));
byId("pause").addEventListener("click", pause);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
route();
if (token.get() === null) login();
else enter();
