// Elements made from text, never from markup: a file's name can't become part of the page.

const DRAWING = 'http://www.w3.org/2000/svg';

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes ?? {}, children);
}

export function shape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(DRAWING, tag), attributes, children);
}

// Names that begin with "on" are listeners; true is an attribute without a value; false and null are left out.
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Set a text only where it changed, so that what is selected or read aloud stays.
export function say(target, text) {
  const wanted = String(text);
  if (target.textContent !== wanted) target.textContent = wanted;
}

export function button(text, attributes = {}) {
  return element('button', { type: 'button', ...attributes }, text);
}

// Keys that belong to a field are not the page's.
export const typing = (event) => event.target.closest?.('input:not([type=checkbox]):not([type=radio]), select, textarea') != null;

// A heading with what belongs to it; returns the section and the place for its controls.
export function panel(title, attributes = {}) {
  const controls = element('div', { class: 'controls' });
  const heading = element('h2', {}, title);
  const section = element('section', { class: 'panel', ...attributes }, element('div', { class: 'panel-head' }, heading, controls));
  return { section, controls, heading };
}

// An observer of sizes that draws in the next frame: browsers log an error where drawing changes sizes at once.
export function onResize(draw) {
  let planned;
  return new ResizeObserver(() => { planned ??= requestAnimationFrame(() => { planned = undefined; draw(); }); });
}

let lastId = 0;
export const freshId = (name) => `${name}-${(lastId += 1)}`;

// A chooser with its label: options are [value, text] or {group, options}.
export function chooser(label, options, onChange, attributes = {}) {
  const id = freshId('choose');
  const option = ([value, text]) => element('option', { value }, text);
  const select = element('select', { id, onchange: () => onChange(select.value), ...attributes }, ...options.map((one) =>
    (one.group === undefined ? option(one) : element('optgroup', { label: one.group }, ...one.options.map(option)))));
  return { field: element('span', { class: 'field' }, element('label', { for: id }, label), select), select };
}
