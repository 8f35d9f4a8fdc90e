// Draws curves, axes, marks and events on a canvas; knows nothing of pointers and keys.

import { clock, clockStep, multiples, niceStep, number, stepDecimals } from './format.js';

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const DOTS_FROM = 7; // pixels between frames, from which on each has a dot
const COLOURS = ['ink', 'soft', 'rule', 'paper', 'raised', 'accent', 'busy', 'bad'];

// The page's colours as they are now: light, dark or for paper.
export function palette(host) {
  const style = getComputedStyle(host);
  const named = (name) => style.getPropertyValue(name).trim() || '#808080';
  const found = Object.fromEntries(COLOURS.map((name) => [name, named(`--${name}`)]));
  found.of = (colour) => (colour.startsWith('--') ? named(colour) : colour);
  return found;
}

// A context whose unit is a CSS pixel, the canvas being as fine as the display.
export function sized(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== tall) { canvas.width = wide; canvas.height = tall; }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  return pen;
}

// Columns on a grid that does not move with the view, so that panning does not make the curve flicker.
function columnsOf(one, box) {
  const perPixel = (box.to - box.from) / box.width;
  const first = Math.floor(box.from / perPixel);
  const columns = Math.ceil(box.to / perPixel) - first + 1;
  const rows = (column) => ((first + column) * perPixel) / one.bucket;
  return { ...one.pyramid.range(rows(0), rows(columns), columns), first, at: (column) => box.x((first + column + 0.5) * perPixel) };
}

// Whether frames are so many that a pixel stands for several: lines between all would be a blot, and slow.
export const crowded = (one, box) => (box.to - box.from) / one.bucket > box.width * 2;

// Draw one curve: every frame where there is room, else the range of each column and its mean.
export function drawCurve(pen, one, box, colour, { width = 1.6, mean = true, dots = true } = {}) {
  pen.strokeStyle = colour;
  pen.fillStyle = colour;
  pen.lineJoin = 'bevel';
  pen.lineWidth = width;
  if (crowded(one, box)) drawColumns(pen, columnsOf(one, box), one, box, mean);
  else drawFrames(pen, one, box, dots);
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function drawColumns(pen, found, one, box, mean) {
  const { low, high, at } = found;
  const strong = one.pyramid.ranges || !mean;
  pen.globalAlpha = strong ? 0.75 : 0.32;
  // Bars on whole pixels: quicker by far than one path, and without seams, as all are off by the same part of one.
  for (let column = 0; column < low.length; column += 1) {
    if (low[column] !== low[column]) continue;
    const top = Math.round(box.y(high[column]) - 0.5);
    pen.fillRect(Math.round(at(column) - 0.5), top, 1, Math.max(1, Math.round(box.y(low[column]) + 0.5) - top));
  }
  pen.globalAlpha = 1;
  if (!strong) drawMeans(pen, found, one.dash, box);
}

// The line of the means, a bar for each column too; its dashes stay where they are while the view moves.
function drawMeans(pen, { mean, at, first }, dash, box) {
  const long = dash.reduce((sum, part) => sum + part, 0);
  const inked = (column) => {
    let rest = long ? (first + column) % long : -1;
    return dash.findIndex((part) => (rest -= part) < 0) % 2 === 0;
  };
  for (let column = 0; column < mean.length; column += 1) {
    if (mean[column] !== mean[column] || (long && !inked(column))) continue;
    const here = box.y(mean[column]);
    const next = mean[column + 1] === mean[column + 1] && column + 1 < mean.length ? box.y(mean[column + 1]) : here;
    const top = Math.round(Math.min(here, next) - 0.75);
    pen.fillRect(Math.round(at(column) - 0.5), top, 1, Math.max(2, Math.round(Math.max(here, next) + 0.75) - top));
  }
}

function strokeLine(pen, values, at, box) {
  pen.beginPath();
  let down = false;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (value !== value) { down = false; continue; }
    if (down) pen.lineTo(at(index), box.y(value));
    else pen.moveTo(at(index), box.y(value));
    down = true;
  }
  pen.stroke();
}

function drawFrames(pen, one, box, dots) {
  const bucket = one.bucket;
  const begin = Math.max(0, Math.floor(box.from / bucket) - 1);
  const end = Math.min(one.pyramid.length, Math.ceil(box.to / bucket) + 1);
  const at = (index) => box.x((index + 0.5) * bucket);
  if (one.pyramid.ranges) {
    pen.globalAlpha = 0.75;
    for (let index = begin; index < end; index += 1) {
      const top = box.y(one.pyramid.upper.data[index]);
      const wide = Math.max(1, at(1) - at(0) - 1);
      pen.fillRect(at(index) - wide / 2, top - 0.75, wide, Math.max(1.5, box.y(one.pyramid.base.data[index]) - top + 1.5));
    }
    return;
  }
  const values = one.pyramid.base.data.subarray(begin, end);
  pen.setLineDash(one.dash ?? []);
  strokeLine(pen, values, (index) => at(begin + index), box);
  const roomy = dots && at(1) - at(0) >= DOTS_FROM;
  values.forEach((value, index) => {
    // A frame between two that are missing would be no line at all.
    const alone = !(values[index - 1] === values[index - 1] && index > 0) && !(values[index + 1] === values[index + 1] && index + 1 < values.length);
    if (value === value && (roomy || alone)) dot(pen, at(begin + index), box.y(value), roomy ? 2.4 : 1.6);
  });
}

export function dot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, Math.PI * 2);
  pen.fill();
}

// A text that stays within the box.
function label(pen, text, x, y, box) {
  const half = pen.measureText(text).width / 2;
  pen.textAlign = 'center';
  pen.fillText(text, Math.min(Math.max(x, box.left + half), box.left + box.width - half), y);
}

// The labels of the scale from low to high, with the decimals that their step needs.
export function scaleLabels(low, high, height) {
  const step = niceStep(high - low, Math.max(2, Math.floor(height / 44)));
  const decimals = stepDecimals(step);
  return multiples(low, high, step).map((value) => ({ value, text: number(value, decimals) }));
}

export function drawScale(pen, labels, box, colours) {
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (const { value, text } of labels) {
    const y = Math.round(box.y(value)) + 0.5;
    pen.strokeStyle = value === 0 ? colours.soft : colours.rule;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(box.left, y);
    pen.lineTo(box.left + box.width, y);
    pen.stroke();
    pen.fillStyle = colours.soft;
    pen.fillText(text, box.left - 8, y);
  }
}

// The first row whose time or number is not before the wanted one.
export function rowAt(wanted, of, rows) {
  let low = 0;
  let high = rows - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Times where they are known, else frame numbers; the labels stand where those times are.
export function drawTimeAxis(pen, box, { rows, time, frame, colours }) {
  const timed = time(0) !== null;
  const of = timed ? time : frame;
  const last = Math.min(rows - 1, Math.max(0, Math.ceil(box.to) - 1));
  const [begin, end] = [of(Math.max(0, Math.floor(box.from))), of(last)];
  const y = box.top + box.height;
  pen.strokeStyle = colours.rule;
  pen.fillStyle = colours.soft;
  pen.textBaseline = 'top';
  const most = Math.max(1, Math.floor(box.width / 84));
  const span = Math.max(end - begin, timed ? 1e-3 : 1);
  const step = timed ? clockStep(span, most) : Math.max(1, niceStep(span, most));
  const decimals = timed && step < 1 ? stepDecimals(step) : 0;
  for (const value of multiples(begin, end, step)) {
    const row = rowAt(value - 1e-9, of, rows);
    // Between two frames the label stands between them too.
    const before = row > 0 ? of(row - 1) : of(row);
    const share = of(row) > before ? (of(row) - value) / (of(row) - before) : 0;
    const x = Math.round(box.x(row + 0.5 - Math.min(1, Math.max(0, share)))) + 0.5;
    if (x < box.left - 1 || x > box.left + box.width + 1) continue;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x, y + 5);
    pen.stroke();
    label(pen, timed ? clock(value, decimals) : number(value, 0), x, y + 8, { ...box, left: 0, width: box.left + box.width });
  }
}

// Where something happened: a line and a diamond, and its words where they fit.
export function drawEvents(pen, events, box, colours) {
  const right = box.left + box.width;
  events.forEach(({ row, text }, index) => {
    const x = box.x(row + 0.5);
    if (x < box.left || x > right) return;
    pen.strokeStyle = colours.busy;
    pen.fillStyle = colours.busy;
    pen.setLineDash([3, 3]);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, box.top);
    pen.lineTo(x, box.top + box.height);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x, box.top - 5);
    pen.lineTo(x + 4, box.top);
    pen.lineTo(x, box.top + 5);
    pen.lineTo(x - 4, box.top);
    pen.fill();
    const next = index + 1 < events.length ? box.x(events[index + 1].row + 0.5) - 6 : right;
    if (x + 8 + pen.measureText(text).width > Math.min(next, right)) return;
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    pen.fillText(text, x + 8, box.top - 1);
  });
}

// Frames that have pictures: a triangle at the foot, the selected one filled.
export function drawMarks(pen, marks, box, colours, selected) {
  for (const { row } of marks) {
    const x = box.x(row + 0.5);
    if (x < box.left - 4 || x > box.left + box.width + 4) continue;
    const y = box.top + box.height;
    pen.fillStyle = row === selected ? colours.accent : colours.paper;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x, y - 9);
    pen.lineTo(x + 5, y - 1);
    pen.lineTo(x - 5, y - 1);
    pen.closePath();
    pen.fill();
    pen.stroke();
  }
}

export function drawLine(pen, x, box, colour, dash = []) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, box.top);
  pen.lineTo(Math.round(x) + 0.5, box.top + box.height);
  pen.stroke();
  pen.setLineDash([]);
}
