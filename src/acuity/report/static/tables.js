// Tables that are sorted by a press on a title.

import { button, element } from './elements.js';

const LONG = 30; // letters from which on words aren't squeezed into a tall cell; names are
const sentence = (text) => /\s/.test(text) && text.length > LONG;

// The number that a cell begins with; a cell without one comes last.
function cellNumber(text) {
  const found = /^[+−-]?[\d,]*\.?\d+(e[+-]?\d+)?/i.exec(String(text).trim());
  return found ? Number(found[0].replaceAll(',', '').replace('−', '-')) : null;
}

function compareCells(a, b, numeric, sign) {
  if (!numeric) return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
  const [one, two] = [cellNumber(a), cellNumber(b)];
  if (one === null || two === null) return (one === null) - (two === null);
  return sign * (one - two);
}

export function table(host, { title, titles, rows, numeric }) {
  let sorted = { column: null, sign: 1 };
  const body = element('tbody');
  const look = (column) => (numeric[column] ? 'number' : null);
  const heads = titles.map((text, column) => element('th', { scope: 'col', class: look(column) },
    rows.length > 1 ? button(text, { onclick: () => sort(column) }) : text));
  function fill(shown) {
    body.replaceChildren(...shown.map((row) => element('tr', {}, ...row.map((text, column) =>
      element('td', { class: look(column) ?? (sentence(text) ? 'long' : null), dir: 'auto' }, String(text ?? ''))))));
  }
  // Numbers begin with the largest; a third press gives the order of the report.
  function sort(column) {
    const begin = numeric[column] ? -1 : 1;
    if (sorted.column !== column) sorted = { column, sign: begin };
    else if (sorted.sign === begin) sorted = { column, sign: -begin };
    else sorted = { column: null, sign: 1 };
    heads.forEach((head, index) => {
      if (index === sorted.column) head.setAttribute('aria-sort', sorted.sign > 0 ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
    });
    fill(sorted.column === null ? rows : [...rows].sort((a, b) => compareCells(a[column], b[column], numeric[column], sorted.sign)));
  }
  fill(rows);
  const made = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body);
  host.append(element('div', { class: 'table-box', role: 'region', tabindex: 0, 'aria-label': title }, made));
}
