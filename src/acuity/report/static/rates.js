// Quality over bitrate: a curve for each encoder, points that take the focus.

import { element, say, shape } from './elements.js';
import { multiples, niceStep, number, stepDecimals } from './format.js';

const RATE = { width: 960, height: 420, left: 52, right: 18, top: 14, bottom: 44 };
const DASHES = ['', '7 4', '2 3', '10 3 2 3'];
// The outline of a point, by the number of its curve: colour is not the only sign.
const POINTS = [
  (x, y) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`,
  (x, y) => `M${x - 5} ${y - 5}h10v10h-10z`,
  (x, y) => `M${x} ${y - 6.5}l6.5 6.5l-6.5 6.5l-6.5 -6.5z`,
  (x, y) => `M${x} ${y - 6}l6 11h-12z`,
];

// Round bitrates at 1, 2 and 5 times powers of ten, closer ones where there are few.
function rateLabels(low, high) {
  const among = (steps) => {
    const found = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const step of steps) if (step * power >= low && step * power <= high) found.push(step * power);
    }
    return found;
  };
  const few = among([1, 2, 5]);
  return few.length >= 3 ? few : among([1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]);
}

export function rateChart(host, curves, { scoreName, targets = [] }) {
  const drawn = curves.map((curve) => ({ ...curve, points: curve.points.filter((point) => point.kbps > 0 && Number.isFinite(point.score)).sort((a, b) => a.kbps - b.kbps) }));
  const points = drawn.flatMap((curve) => curve.points);
  if (!points.length) return;
  const scores = [...points.map((point) => point.score), ...targets];
  const air = Math.max((Math.max(...scores) - Math.min(...scores)) * 0.06, 0.5);
  const [bottom, top] = [Math.min(...scores) - air, Math.max(...scores) + air];
  const rates = points.map((point) => point.kbps);
  const [low, high] = [Math.min(...rates) / 1.12, Math.max(...rates) * 1.12];
  const x = (kbps) => RATE.left + (Math.log(kbps / low) / Math.log(high / low)) * (RATE.width - RATE.left - RATE.right);
  const y = (score) => RATE.top + ((top - score) / (top - bottom)) * (RATE.height - RATE.top - RATE.bottom);
  const across = (value, look) => shape('line', { class: look, x1: RATE.left, x2: RATE.width - RATE.right, y1: y(value), y2: y(value) });
  const step = niceStep(top - bottom, 7);
  const parts = multiples(bottom, top, step).flatMap((value) => [
    across(value, 'ground'), shape('text', { x: RATE.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, number(value, stepDecimals(step)))]);
  for (const kbps of rateLabels(low, high)) {
    parts.push(shape('line', { class: 'ground', x1: x(kbps), x2: x(kbps), y1: RATE.top, y2: RATE.height - RATE.bottom }));
    parts.push(shape('text', { x: x(kbps), y: RATE.height - RATE.bottom + 18, 'text-anchor': 'middle' }, number(kbps, kbps < 10 ? 1 : 0)));
  }
  parts.push(shape('text', { x: RATE.width - RATE.right, y: RATE.height - 6, 'text-anchor': 'end' }, 'kbit/s, logarithmic'));
  for (const target of targets) {
    parts.push(across(target, 'target'), shape('text', { class: 'target-name', x: RATE.width - RATE.right - 4, y: y(target) - 5, 'text-anchor': 'end' }, `target ${target}`));
  }
  const readout = element('p', { class: 'chart-readout', 'aria-live': 'polite' });
  const idle = `${scoreName} over bitrate. Point at an encode, or walk through them with Tab.`;
  say(readout, idle);
  drawn.forEach((curve, index) => {
    const colour = `var(--curve-${(index % 8) + 1})`;
    const path = curve.points.map((point, place) => `${place ? 'L' : 'M'}${x(point.kbps).toFixed(1)} ${y(point.score).toFixed(1)}`).join('');
    const line = shape('path', { class: 'line', d: path, 'stroke-dasharray': DASHES[index % 4] });
    line.style.stroke = colour;
    parts.push(line);
    for (const point of curve.points) {
      const text = `${[curve.name, point.label].filter(Boolean).join(', ')}: ${number(point.kbps, 1)} kbit/s, ${scoreName} ${number(point.score, 2)}${point.chosen ? ', chosen' : ''}`;
      const made = shape('path', {
        class: point.chosen ? 'point chosen' : 'point', d: POINTS[index % 4](x(point.kbps), y(point.score)), tabindex: 0, role: 'img', 'aria-label': text,
        onpointerenter: () => say(readout, text), onfocus: () => say(readout, text), onpointerleave: () => say(readout, idle), onblur: () => say(readout, idle),
      });
      made.style.fill = colour;
      parts.push(made);
    }
  });
  const names = drawn.map((curve, index) => {
    const key = shape('svg', { width: 28, height: 14, 'aria-hidden': 'true' }, shape('path', { class: 'line', d: 'M0 7H28', 'stroke-dasharray': DASHES[index % 4] }), shape('path', { d: POINTS[index % 4](14, 7) }));
    key.firstChild.style.stroke = key.lastChild.style.fill = `var(--curve-${(index % 8) + 1})`;
    return element('span', { class: 'check' }, key, curve.name);
  });
  host.append(
    element('div', { class: 'legend' }, ...names), readout,
    element('div', { class: 'rate-box' }, shape('svg', { viewBox: `0 0 ${RATE.width} ${RATE.height}`, role: 'group', 'aria-label': `${scoreName} over bitrate` }, ...parts)),
  );
}
