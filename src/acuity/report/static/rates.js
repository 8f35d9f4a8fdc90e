// Quality over bitrate: a curve for each encoder, points that take the focus.

import { element, onResize, say, shape } from './elements.js';
import { count, multiples, niceStep, number, stepDecimals } from './format.js';
import { lineSample, lookOf, patternOf } from './looks.js';

const STEPS = [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]; // times a power of ten
const TEXT = 46; // pixels that the text of a bitrate takes
const RATE = { left: 46, right: 16, top: 14, bottom: 44 };
// The outline of a point, by the number of its curve: colour is not the only sign.
const POINTS = [
  (x, y) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`,
  (x, y) => `M${x - 5} ${y - 5}h10v10h-10z`,
  (x, y) => `M${x} ${y - 6.5}l6.5 6.5l-6.5 6.5l-6.5 -6.5z`,
  (x, y) => `M${x} ${y - 6}l6 11h-12z`,
];

// Round bitrates as close to each other as their texts allow, so that each has its text.
function rateLabels(low, high, x) {
  const among = (steps) => {
    const found = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const step of steps) if (step * power >= low && step * power <= high) found.push(step * power);
    }
    return found;
  };
  const apart = (found) => found.every((kbps, index) => index === 0 || x(kbps) - x(found[index - 1]) >= TEXT);
  const even = [6, 4, 2].map((most) => multiples(low, high, niceStep(high - low, most)));
  const choices = [...STEPS.map(among), ...even].filter(apart);
  return choices.find((found) => found.length > 2) ?? choices.sort((a, b) => b.length - a.length)[0] ?? [];
}

// The ranges of the axes, with some air.
function rateRanges(points, targets) {
  const scores = [...points.map((point) => point.score), ...targets];
  const rates = points.map((point) => point.kbps);
  const air = Math.max((Math.max(...scores) - Math.min(...scores)) * 0.06, 0.5);
  return { bottom: Math.min(...scores) - air, top: Math.max(...scores) + air, low: Math.min(...rates) / 1.12, high: Math.max(...rates) * 1.12 };
}

function rateGrid({ x, y, width, height, low, high, bottom, top }, targets) {
  const across = (value, look) => shape('line', { class: look, x1: RATE.left, x2: width - RATE.right, y1: y(value), y2: y(value) });
  const step = niceStep(top - bottom, 7);
  const parts = multiples(bottom, top, step).flatMap((value) => [
    across(value, 'ground'), shape('text', { x: RATE.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, number(value, stepDecimals(step)))]);
  for (const kbps of rateLabels(low, high, x)) {
    parts.push(
      shape('line', { class: 'ground', x1: x(kbps), x2: x(kbps), y1: RATE.top, y2: height - RATE.bottom }),
      shape('text', { class: 'rate', x: x(kbps), y: height - RATE.bottom + 18, 'text-anchor': 'middle' }, count(kbps)));
  }
  parts.push(shape('text', { x: width - RATE.right, y: height - 6, 'text-anchor': 'end' }, 'kbit/s, logarithmic'));
  for (const target of targets) {
    parts.push(across(target, 'target'), shape('text', { class: 'target-name', x: RATE.left + 6, y: y(target) - 5 }, `target ${target}`));
  }
  return parts;
}

// `encodes` are the names of the curves over time, whose colours the points of these encodes have too.
export function rateChart(host, curves, { scoreName, targets = [], encodes = [] }) {
  const drawn = curves.map((curve) => ({ ...curve, points: curve.points.filter((point) => point.kbps > 0 && Number.isFinite(point.score)).sort((a, b) => a.kbps - b.kbps) }));
  const points = drawn.flatMap((curve) => curve.points);
  if (!points.length) return;
  const ranges = rateRanges(points, targets);
  const readout = element('p', { class: 'chart-readout', 'aria-live': 'polite' });
  const idle = 'Point at an encode, or walk through them with Tab.';
  say(readout, idle);
  const numbers = new Map(encodes.map((name, index) => [name, index]));
  const known = points.every((point) => numbers.has(point.label));
  const lookOfLine = (index) => ({ ...lookOf(index), ...(known ? { colour: '--soft' } : {}) });
  const names = drawn.map((curve, index) => {
    const key = lineSample(lookOfLine(index), shape('path', { d: POINTS[patternOf(index)](14, 7) }));
    return element('span', { class: 'check' }, key, curve.name);
  });
  const drawing = shape('svg', { role: 'group', 'aria-label': `${scoreName} over bitrate` });
  const box = element('div', {}, drawing);
  host.append(element('div', { class: 'legend' }, ...names), readout, box);

  function pointOf(curve, index, point, x, y) {
    const text = `${[curve.name, point.label].filter(Boolean).join(', ')}: ${number(point.kbps, 1)} kbit/s, ${scoreName} ${number(point.score, 2)}${point.chosen ? ', chosen' : ''}`;
    const tell = () => say(readout, text);
    const made = shape('path', {
      class: point.chosen ? 'point chosen' : 'point', d: POINTS[patternOf(index)](x(point.kbps), y(point.score)), tabindex: 0, role: 'img', 'aria-label': text,
      onpointerenter: tell, onfocus: tell, onpointerleave: () => say(readout, idle), onblur: () => say(readout, idle),
    });
    made.style.fill = `var(${lookOf(known ? numbers.get(point.label) : index).colour})`;
    return made;
  }
  function draw() {
    const width = Math.max(280, box.clientWidth);
    const height = width < 600 ? 280 : 380;
    const x = (kbps) => RATE.left + (Math.log(kbps / ranges.low) / Math.log(ranges.high / ranges.low)) * (width - RATE.left - RATE.right);
    const y = (score) => RATE.top + ((ranges.top - score) / (ranges.top - ranges.bottom)) * (height - RATE.top - RATE.bottom);
    drawing.setAttribute('width', width);
    drawing.setAttribute('height', height);
    drawing.replaceChildren(...rateGrid({ x, y, width, height, ...ranges }, targets), ...drawn.flatMap((curve, index) => {
      const path = curve.points.map((point, place) => `${place ? 'L' : 'M'}${x(point.kbps).toFixed(1)} ${y(point.score).toFixed(1)}`).join('');
      const line = shape('path', { class: 'line', d: path, 'stroke-dasharray': lookOf(index).dash.join(' ') || null });
      line.style.stroke = `var(${lookOfLine(index).colour})`;
      return [line, ...curve.points.map((point) => pointOf(curve, index, point, x, y))];
    }));
  }
  let wide = 0;
  onResize(() => { if (box.clientWidth !== wide) { wide = box.clientWidth; draw(); } }).observe(box);
}
