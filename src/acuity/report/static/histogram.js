// How often which value occurs, with percentiles.

import { element, onResize, shape } from './elements.js';
import { count, decimalsOf, figure, multiples, niceStep, number, stepDecimals } from './format.js';

const BARS = 40;
const QUANTILES = [['p1', 0.01], ['p5', 0.05], ['p10', 0.1], ['p25', 0.25], ['p50', 0.5], ['p75', 0.75], ['p90', 0.9], ['p95', 0.95], ['p99', 0.99]];
const SIZE = { height: 190, left: 46, right: 12, top: 24, bottom: 24 };
const ORDER = ['mean', 'harmonic mean', 'lowest', ...QUANTILES.map(([name]) => name), 'highest'];
const drawnIn = new WeakMap(); // the watch on the width of each host

// The value below which a share of the sorted values lies, between two of them in proportion.
export function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const next = sorted[Math.min(low + 1, sorted.length - 1)];
  return sorted[low] + (next - sorted[low]) * (place - low);
}

// What is known of values: [name, text] each. `known` are texts of the report and stay as they are.
export function describe(sorted, { decimals = 2, stored = 6, known = [] } = {}) {
  if (!sorted.length) return known;
  const names = new Set(known.map(([name]) => name));
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const own = [
    ['mean', number(mean, decimals)],
    ['lowest', figure(sorted[0], decimals, stored)],
    ...QUANTILES.map(([name, share]) => [name, number(quantile(sorted, share), decimals)]),
    ['highest', figure(sorted.at(-1), decimals, stored)],
  ];
  const rank = ([name]) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1); // others come last
  return [...known, ...own.filter(([name]) => !names.has(name))].sort((a, b) => rank(a) - rank(b));
}

// Bins whose edges are round numbers.
function bins(sorted) {
  const [low, high] = [sorted[0], sorted.at(-1)];
  const step = niceStep(high - low || Math.abs(high) * 0.01 || 0.01, BARS);
  const first = Math.floor(low / step + 1e-9);
  const counts = new Array(Math.floor(high / step + 1e-9) - first + 1).fill(0);
  for (const value of sorted) counts[Math.min(counts.length - 1, Math.max(0, Math.floor(value / step + 1e-9) - first))] += 1;
  return { first, step, counts };
}

// Draw the histogram as wide as its host, and again when that changes.
export function histogram(host, values, { label, better = null, known = [], stored = 6, colour = '--curve-1' } = {}) {
  const sorted = values.filter((value) => value === value).sort();
  host.classList.add('histogram');
  drawnIn.get(host)?.disconnect();
  if (!sorted.length) {
    host.replaceChildren(element('p', { class: 'soft' }, 'No values here.'));
    return;
  }
  const texts = describe(sorted, { decimals: decimalsOf(sorted[0], sorted.at(-1), stored), stored, known });
  const said = Object.fromEntries(texts);
  const told = ['lowest', 'p5', 'p50', 'p95', 'highest'].filter((name) => said[name]).map((name) => `${name} ${said[name]}`);
  const summary = `${label}: ${count(sorted.length)} values, ${told.join(', ')}`;
  const drawing = shape('svg', { role: 'img', 'aria-label': summary, height: SIZE.height });
  host.replaceChildren(drawing, figureList(texts), ...(better ? [element('p', { class: 'soft' }, `${better === 'higher' ? 'Higher' : 'Lower'} is better.`)] : []));
  const counted = bins(sorted);
  const watch = onResize(() => drawBars(drawing, sorted, counted, colour));
  watch.observe(host);
  drawnIn.set(host, watch);
  drawBars(drawing, sorted, counted, colour);
}

export function figureList(texts) {
  return element('dl', { class: 'figures' }, ...texts.map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text))));
}

function drawBars(drawing, sorted, { first, step, counts }, colour) {
  const width = Math.max(240, drawing.parentNode?.clientWidth ?? 0);
  const { height, left, right, top, bottom } = SIZE;
  const most = Math.max(...counts);
  const wide = (width - left - right) / counts.length;
  const x = (value) => left + (value / step - first) * wide;
  const y = (share) => height - bottom - share * (height - top - bottom);
  const edge = (index) => number((first + index) * step, stepDecimals(step));
  const parts = [];
  for (const value of multiples(0, most, Math.max(1, niceStep(most, 4)))) {
    parts.push(shape('line', { class: 'ground', x1: left, x2: width - right, y1: y(value / most), y2: y(value / most) }));
    parts.push(shape('text', { x: left - 6, y: y(value / most) + 4, 'text-anchor': 'end' }, count(value)));
  }
  counts.forEach((bar, index) => {
    if (!bar) return;
    const tall = Math.max(1, y(0) - y(bar / most));
    const title = shape('title', {}, `${edge(index)} to ${edge(index + 1)}: ${count(bar)} of ${count(sorted.length)} frames`);
    const made = shape('rect', { class: 'bar', x: left + index * wide, y: y(0) - tall, width: Math.max(1, wide - 1), height: tall }, title);
    made.style.fill = `var(${colour})`;
    parts.push(made);
  });
  const labelled = niceStep(counts.length * step, Math.floor(width / 80));
  for (const value of multiples(first * step, (first + counts.length) * step, labelled)) {
    parts.push(shape('text', { x: Math.min(x(value), width - 14), y: height - 7, 'text-anchor': 'middle' }, number(value, stepDecimals(labelled))));
  }
  let free = -Infinity;
  for (const [name, share] of [['p5', 0.05], ['median', 0.5], ['p95', 0.95]]) {
    const at = x(quantile(sorted, share));
    parts.push(shape('line', { class: 'quantile', x1: at, x2: at, y1: top - 6, y2: y(0) }));
    if (at < free) continue;
    parts.push(shape('text', { class: 'quantile-name', x: Math.min(Math.max(at, left + 18), width - 26), y: top - 10, 'text-anchor': 'middle' }, name));
    free = at + 44;
  }
  drawing.setAttribute('width', width);
  drawing.replaceChildren(...parts);
}
