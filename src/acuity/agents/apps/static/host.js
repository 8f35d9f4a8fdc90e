// The host of the extension MCP Apps, as this page sees it: JSON-RPC 2.0 over postMessage.
//
//   page ─► host   ui/initialize, ui/notifications/initialized, ui/notifications/size-changed,
//                  tools/call, resources/read
//   host ─► page   ui/notifications/tool-input, tool-result, tool-cancelled, host-context-changed,
//                  ui/resource-teardown, ping

const APPS_VERSION = "2026-01-26";
const METHOD_NOT_FOUND = -32601;

export class AppHost {
  // `on` has a function for each notification, by the last part of its name, and for "teardown".
  constructor(identity, on) {
    this.identity = identity;
    this.on = on;
    this.capabilities = {};
    this.context = {};
    this.waiting = new Map();
    this.number = 0;
    this.hear = (event) => this.heard(event);
  }

  async connect() {
    window.addEventListener("message", this.hear);
    const found = await this.request("ui/initialize", {
      appInfo: this.identity,
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
      protocolVersion: APPS_VERSION,
    });
    this.capabilities = found?.hostCapabilities ?? {};
    this.context = found?.hostContext ?? {};
    this.on["host-context-changed"]?.(this.context);
    this.notify("ui/notifications/initialized", {});
  }

  close() {
    window.removeEventListener("message", this.hear);
    this.waiting.clear();
  }

  request(method, params) {
    const id = (this.number += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.post({ id, method, params });
    });
  }

  notify(method, params) {
    this.post({ method, params });
  }

  get callsTools() {
    return Boolean(this.capabilities.serverTools);
  }

  get readsResources() {
    return Boolean(this.capabilities.serverResources);
  }

  // The text of a resource of the server, if the host lets the page read it.
  async read(uri) {
    const found = await this.request("resources/read", { uri });
    const text = found?.contents?.[0]?.text;
    if (typeof text !== "string") throw new Error(`${uri} has no text`);
    return text;
  }

  call(name, given) {
    return this.request("tools/call", { name, arguments: given });
  }

  post(message) {
    // The host's origin isn't known to a page in a sandbox; only the window that shows it hears this.
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  heard(event) {
    const message = event.data;
    if (event.source !== window.parent || message?.jsonrpc !== "2.0") return;
    if (typeof message.method !== "string") this.answered(message);
    else if (message.id === undefined) this.noted(message);
    else this.asked(message);
  }

  answered({ id, result, error }) {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) waiting?.reject(new Error(String(error.message ?? "the host refused")));
    else waiting?.resolve(result);
  }

  noted({ method, params }) {
    const name = method.replace("ui/notifications/", "");
    if (name === "host-context-changed") Object.assign(this.context, params);
    this.on[name]?.(params ?? {});
  }

  asked({ id, method }) {
    if (method === "ui/resource-teardown") this.on.teardown?.();
    if (method === "ui/resource-teardown" || method === "ping") this.post({ id, result: {} });
    else this.post({ id, error: { code: METHOD_NOT_FOUND, message: "Method not found" } });
  }
}

// Tells the host how large the page is, whenever that changes; returns a function that stops this.
export function reportSize(host) {
  let told = "";
  let planned = false;
  const measure = () => {
    planned = false;
    const root = document.documentElement;
    const before = root.style.height;
    root.style.height = "max-content"; // what the page needs, not what the frame has
    const height = Math.ceil(root.getBoundingClientRect().height);
    root.style.height = before;
    const width = Math.ceil(window.innerWidth);
    if (told === `${width}x${height}`) return;
    told = `${width}x${height}`;
    host.notify("ui/notifications/size-changed", { width, height });
  };
  const plan = () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(measure);
  };
  const watching = new ResizeObserver(plan);
  watching.observe(document.documentElement);
  watching.observe(document.body);
  return () => watching.disconnect();
}

// Shows the page in the host's theme, whatever the browser prefers: rules for a colour scheme are switched.
export function followTheme(theme) {
  if (theme !== "light" && theme !== "dark") return;
  document.documentElement.dataset.theme = theme;
  document.documentElement.style.colorScheme = theme;
  for (const sheet of document.styleSheets) switchSchemes(sheet.cssRules, theme);
}

const schemeRules = new WeakMap(); // the scheme that each rule was written for

function switchSchemes(rules, theme) {
  for (const rule of rules) {
    if (!(rule instanceof CSSMediaRule)) continue;
    const named = /prefers-color-scheme:\s*(light|dark)/.exec(rule.media.mediaText);
    const scheme = schemeRules.get(rule) ?? named?.[1];
    if (scheme === undefined) continue;
    schemeRules.set(rule, scheme);
    rule.media.mediaText = scheme === theme ? "screen" : "not all"; // paper stays white
  }
}
