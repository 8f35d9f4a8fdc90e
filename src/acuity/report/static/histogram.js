// How often which value occurs, with percentiles.

import { element, shape } from './elements.js';
import { count, decimalsOf, figure, multiples, niceStep, number, stepDecimals } from './format.js';

const BARS = 40;
const QUANTILES = [['p1', 0.01], ['p5', 0.05], ['p10', 0.1], ['p25', 0.25], ['median', 0.5], ['p75', 0.75], ['p95', 0.95]];
const SIZE = { width: 560, height: 190, left: 44, right: 10, top: 22, bottom: 24 };

// The value below which a share of the sorted values lies, between two of them in proportion.
export function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const next = sorted[Math.min(low + 1, sorted.length - 1)];
  return sorted[low] + (next - sorted[low]) * (place - low);
}

// What is known of values: [name, text] each. `known` are texts of the report, which come first and stay as they are.
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
  return [...known, ...own.filter(([name]) => !names.has(name))];
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

export function histogram(host, values, { label, better = null, known = [], stored = 6 } = {}) {
  const sorted = values.filter((value) => value === value).sort();
  host.replaceChildren();
  host.classList.add('histogram');
  if (!sorted.length) {
    host.append(element('p', { class: 'soft' }, 'No values here.'));
    return;
  }
  const decimals = decimalsOf(sorted[0], sorted.at(-1), stored);
  const texts = describe(sorted, { decimals, stored, known });
  const said = Object.fromEntries(texts);
  const { first, step, counts } = bins(sorted);
  const most = Math.max(...counts);
  const { width, height, left, right, top, bottom } = SIZE;
  const wide = (width - left - right) / counts.length;
  const x = (value) => left + (value / step - first) * wide;
  const y = (share) => height - bottom - share * (height - top - bottom);
  const edge = (index) => number((first + index) * step, stepDecimals(step));
  const parts = [];
  const upStep = Math.max(1, niceStep(most, 4));
  for (const value of multiples(0, most, upStep)) {
    parts.push(shape('line', { class: 'ground', x1: left, x2: width - right, y1: y(value / most), y2: y(value / most) }));
    parts.push(shape('text', { x: left - 6, y: y(value / most) + 4, 'text-anchor': 'end' }, count(value)));
  }
  counts.forEach((bar, index) => {
    if (!bar) return;
    const tall = Math.max(1, y(0) - y(bar / most));
    const title = shape('title', {}, `${edge(index)} to ${edge(index + 1)}: ${count(bar)} of ${count(sorted.length)} frames`);
    parts.push(shape('rect', { class: 'bar', x: left + index * wide, y: y(0) - tall, width: Math.max(1, wide - 1), height: tall }, title));
  });
  const labelled = niceStep(counts.length * step, 7);
  for (const value of multiples(first * step, (first + counts.length) * step, labelled)) {
    parts.push(shape('text', { x: Math.min(x(value), width - 14), y: height - 7, 'text-anchor': 'middle' }, number(value, stepDecimals(labelled))));
  }
  let free = -Infinity;
  for (const [name, share] of [['p5', 0.05], ['median', 0.5], ['p95', 0.95]]) {
    const at = x(quantile(sorted, share));
    parts.push(shape('line', { class: 'quantile', x1: at, x2: at, y1: top - 4, y2: y(0) }));
    if (at < free) continue;
    parts.push(shape('text', { class: 'quantile-name', x: Math.min(Math.max(at, left + 18), width - 26), y: top - 9, 'text-anchor': 'middle' }, name));
    free = at + 44;
  }
  const summary = `${label}: ${count(sorted.length)} values, ${['lowest', 'p5', 'median', 'p95', 'highest']
    .filter((name) => said[name]).map((name) => `${name} ${said[name]}`).join(', ')}`;
  host.append(
    shape('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summary }, ...parts),
    element('dl', { class: 'figures' }, ...texts.map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text)))),
  );
  if (better) host.append(element('p', { class: 'soft' }, `${better === 'higher' ? 'Higher' : 'Lower'} is better.`));
}
