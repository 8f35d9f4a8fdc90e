// Elements made from text, never from markup: what clients call themselves can't become part of the page.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

// The focus of something that is gone: the heading of the view that is shown has it then.
export function focusHeading() {
  const heading = document.querySelector("#main section:not([hidden]) h1");
  heading.tabIndex = -1;
  heading.focus();
}

// Set a text only where it changed, so that what is selected or read aloud stays.
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
});

export const count = (number) => WHOLE.format(number);
export const many = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
export const short = (number) => (number < 10000 ? WHOLE.format(Math.round(number)) : SHORT.format(number));

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let step = 0;
  while (number >= 1024 && step < units.length - 1) { number /= 1024; step += 1; }
  return `${step && number < 10 ? number.toFixed(1) : Math.round(number)} ${units[step]}`;
}

export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

export function milliseconds(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  if (number < 10) return `${number.toFixed(1)} ms`;
  if (number < 1000) return `${Math.round(number)} ms`;
  return `${(number / 1000).toFixed(number < 10000 ? 1 : 0)} s`;
}

export const rate = (number) => (number === 0 ? "0/s" : number < 10 ? `${number.toFixed(1)}/s` : `${short(number)}/s`);
export const share = (number) => `${(100 * number).toFixed(number < 0.1 ? 1 : 0)} %`;
// The states of this server and of the other nodes that tell theirs, by label.
export const nodes = (state) => [
  [state.cluster?.node ?? "", state],
  ...Object.entries(state.cluster?.others ?? {}).filter(([, one]) => one.problem === undefined),
];
export const clock = (unix) => CLOCK.format(new Date(unix * 1000));
export const moment = (unix) => (unix === null ? "–" : DAY.format(new Date(unix * 1000)));

// Names such as mcp_sessions_created_total in words.
export const words = (name) => {
  const plain = name.replace(/^mcp_/, "").replace(/_total$/, "").replaceAll("_", " ");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
};

let toastTimer = 0;
export function toast(text, bad = false) {
  const box = byId("toasts");
  box.replaceChildren(make("p", { class: bad ? "toast bad" : "toast" }, text));
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.replaceChildren(), 7000);
}
