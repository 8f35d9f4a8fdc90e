// A curve over time: zoom, pan, read-out, marks, and the whole as a strip below.

import { element, say } from './elements.js';
import { clock, count, decimalsOf, figure } from './format.js';
import { Gestures } from './gestures.js';
import { lineSample } from './looks.js';
import { crowded, dot, drawCurve, drawEvents, drawLine, drawMarks, drawScale, drawTimeAxis, palette, rowAt, scaleLabels, sized } from './plot.js';
import { Pyramid } from './pyramid.js';

const FEWEST = 8; // rows that a view shows at least
const NEAR = 9; // pixels around a mark or an event that belong to it
const STRIP = 46; // height of the strip
const MOST_DOTTED = 3; // curves: dots at the frames of more would hide the lines
export class TimeChart {
  // time(row) is in seconds or null; frame(row) is the frame's number; height is 'whole', 'view' or 'zero'.
  constructor(host, { label, time = () => null, frame = (row) => row, onPick = () => {}, onView = () => {}, height = 'whole' }) {
    Object.assign(this, { host, label, time, frame, onPick, onView, height });
    this.series = [];
    this.events = [];
    this.marks = [];
    this.rows = 0;
    this.from = 0;
    this.to = 1;
    this.cursor = null;
    this.selected = null;
    this.brush = null; // a range that is being drawn: [row, row]
    this.plot = element('canvas', { class: 'chart-plot', tabindex: 0, role: 'application', 'aria-roledescription': 'curve' });
    this.strip = element('canvas', { class: 'chart-strip', 'aria-hidden': 'true' });
    this.wholeStrip = element('canvas');
    this.drawn = 0; // counts what changes the strip
    this.readout = element('div', { class: 'chart-readout', 'aria-hidden': 'true' });
    this.spoken = element('p', { class: 'unseen', 'aria-live': 'polite' });
    this.method = element('p', { class: 'chart-method', hidden: true }, 'A pixel stands for several frames: the band reaches from their lowest to their highest value, the line is their mean.');
    this.root = element('div', { class: 'chart' }, this.readout, this.plot, this.strip, this.method, this.spoken);
    host.append(this.root);
    this.stop = new AbortController();
    this.listen(this.stop.signal);
    this.named();
  }

  // Series have values; those known as ranges only have high and bucket too. decimals are those that are stored. A series
  // with a place, an element, has its value there, the others beside the chart's other words.
  setSeries(series) {
    const whole = this.rows === 0 || (this.from <= 0 && this.to >= this.rows);
    this.series = series.map((one) => ({
      stored: 6, dash: [], ...one, bucket: one.bucket ?? 1, pyramid: new Pyramid(one.values, one.high ?? null),
    }));
    this.count();
    if (whole) this.show(0, this.rows);
    else this.show(this.from, this.to);
    this.named();
  }

  // The curve grows; a view that reaches its end goes along.
  append(index, values) {
    const before = this.rows;
    this.series[index].pyramid.append(values);
    this.count();
    if (this.from <= 0 && this.to >= before) this.show(0, this.rows);
    else if (this.to >= before) this.show(this.from + this.rows - before, this.rows);
    else this.redraw();
  }

  count() {
    this.drawn += 1;
    this.rows = Math.max(0, ...this.series.map((one) => rowsOf(one)));
    for (const one of this.series) {
      one.whole = one.pyramid.over(0, one.pyramid.length);
      one.decimals = decimalsOf(one.whole.low, one.whole.high, one.stored);
    }
  }

  setEvents(events) { this.events = events; this.drawn += 1; this.redraw(); }
  setMarks(marks) { this.marks = marks; this.drawn += 1; this.redraw(); }
  setHeight(height) { this.height = height; this.redraw(); }

  view(from, to) { this.show(from, to); }

  select(row) {
    this.selected = row;
    if (row !== null && !this.seen(row)) this.pan((row - (this.from + this.to) / 2) / (this.to - this.from));
    this.redraw();
  }

  destroy() {
    this.stop.abort();
    this.watch.disconnect();
    cancelAnimationFrame(this.pending);
    this.root.remove();
  }

  named() {
    const names = this.series.map((one) => one.name).join(', ');
    this.plot.setAttribute('aria-label', `${this.label}${names ? `: ${names}` : ''}. ${count(this.rows)} frames. `
      + 'Arrow keys move the cursor, plus and minus zoom, Page Up and Page Down pan, Enter shows the frame.');
  }

  // Keep a view within the rows, not narrower than a few of them.
  show(from, to) {
    const least = Math.min(FEWEST, Math.max(1, this.rows));
    const wide = Math.min(Math.max(to - from, least), Math.max(this.rows, 1));
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(0, to - from < least ? middle - wide / 2 : from), Math.max(0, this.rows - wide));
    const moved = begin !== this.from || begin + wide !== this.to;
    this.from = begin;
    this.to = begin + wide;
    if (moved) this.onView(...this.rowsInView());
    this.redraw();
  }

  // The rows whose middle is in view: [first, after the last].
  rowsInView() { return [this.from, this.to].map((edge) => Math.min(Math.max(0, Math.ceil(edge - 0.5)), this.rows)); }

  seen(row) { return row !== null && row + 0.5 >= this.from && row + 0.5 <= this.to; }

  // Zoom around a row; without one around the cursor or the selected frame if it is in view.
  zoom(factor, around = null) {
    const known = [this.cursor, this.selected].find((row) => this.seen(row));
    const centre = around ?? (known === undefined ? (this.from + this.to) / 2 : known + 0.5);
    this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }

  pan(share) {
    const by = share * (this.to - this.from);
    const wide = this.to - this.from;
    const from = Math.min(Math.max(0, this.from + by), this.rows - wide);
    this.show(from, from + wide);
  }

  // The rows that share a pixel with a row, and whole pixels beside it: [first, after the last].
  pixel(row, beside = 0) {
    const each = (this.to - this.from) / (this.box?.width || 1);
    if (each <= 1) return [row + beside, row + beside + 1];
    const column = Math.floor(row / each + 1e-9) + beside;
    return [Math.ceil(column * each - 1e-9), Math.max(Math.ceil((column + 1) * each - 1e-9), Math.ceil(column * each) + 1)].map((at) => Math.min(Math.max(0, at), this.rows));
  }

  // Where a pixel stands for many frames, the one to look at is the worst of them.
  worst([from, to]) {
    const one = this.series[0];
    if (!one || one.pyramid.ranges || to - from < 2) return Math.min(Math.max(0, from), this.rows - 1);
    const values = one.pyramid.base.data;
    const sign = one.better === 'lower' ? -1 : 1;
    let best = from;
    for (let row = from; row < Math.min(to, one.pyramid.length); row += 1) {
      if (values[best] !== values[best] || values[row] * sign < values[best] * sign) best = row;
    }
    return best;
  }

  // Move the cursor by pixels: one frame where frames have their own.
  step(by) {
    const start = this.cursor ?? this.selected ?? Math.floor((this.from + this.to) / 2);
    this.point(this.worst(this.pixel(start, by)));
  }

  // Put the cursor on a row, in view.
  point(row) {
    this.cursor = row === null ? null : Math.min(Math.max(0, row), this.rows - 1);
    if (this.cursor !== null && !this.seen(this.cursor)) {
      const off = this.cursor < this.from ? this.cursor - this.from : this.cursor + 1 - this.to;
      this.pan(off / (this.to - this.from));
    }
    this.redraw();
  }

  pick(row) {
    this.cursor = row;
    this.select(row);
    this.onPick(row);
  }

  // What the page says of a row. Where a pixel covers several frames, it says their range.
  reading(row) {
    const seconds = this.time(row);
    const each = this.series.map((one) => {
      const value = one.pyramid.ranges ? NaN : one.pyramid.base.data[row];
      return { one, text: row >= rowsOf(one) ? '–' : this.told(one, row, value) };
    });
    const events = this.events.filter((event) => Math.abs(this.box.x(event.row + 0.5) - this.box.x(row + 0.5)) < NEAR);
    return { frame: `frame ${count(this.frame(row))}`, time: seconds === null ? '' : clock(seconds, 3), each, events };
  }

  told(one, row, value) {
    const shown = (figured) => figure(figured, one.decimals, one.stored);
    if (!one.pyramid.ranges) return `${shown(value)}${one.unit ? ` ${one.unit}` : ''}`;
    const index = Math.floor(row / one.bucket);
    return `${shown(one.pyramid.base.data[index])} to ${shown(one.pyramid.upper.data[index])} within ${count(one.bucket)} frames`;
  }

  // The range that the cursor's pixel stands for.
  column(row) {
    const [from, to] = this.pixel(row);
    const [one] = this.series;
    if (to - from < 2 || this.series.length !== 1 || one.pyramid.ranges) return '';
    const found = one.pyramid.over(from, to);
    const shown = (value) => figure(value, one.decimals, one.stored);
    return found.known && this.worst([from, to]) === row ? `worst of ${count(to - from)} frames here, which are ${shown(found.low)} to ${shown(found.high)}` : '';
  }

  // How much is in view.
  extent() {
    if (!this.rows) return 'no frames yet';
    const [first, end] = this.rowsInView();
    const shown = end - first;
    const times = this.time(0) === null ? '' : `, ${clock(this.time(first), 2)} to ${clock(this.time(Math.max(first, end - 1)), 2)}`;
    return `${shown >= this.rows ? `all ${count(this.rows)}` : `${count(shown)} of ${count(this.rows)}`} frames${times}`;
  }

  // Say what is below the cursor, else of the selected frame.
  tell() {
    const row = this.cursor ?? this.selected;
    const extent = element('span', { class: 'readout-extent' }, this.extent());
    if (row === null || row >= this.rows) {
      for (const one of this.series) if (one.place) say(one.place, '');
      this.readout.replaceChildren(extent);
      return;
    }
    const said = this.reading(row);
    const column = this.column(row);
    const parts = [];
    for (const { one, text } of said.each) {
      if (one.place) say(one.place, text);
      else parts.push(element('span', {}, lineSample(one), `${one.name} `, element('b', {}, text)));
    }
    this.readout.replaceChildren(
      element('span', { class: 'readout-place' }, [said.time, said.frame].filter(Boolean).join(' · ')),
      ...parts,
      ...(column ? [element('span', { class: 'soft' }, column)] : []),
      ...said.events.map((event) => element('span', { class: 'readout-event' }, event.text)),
      extent,
    );
    this.roomy();
    const words = [said.time, said.frame, ...said.each.map(({ one, text }) => `${one.name} ${text}`), ...said.events.map((event) => event.text)];
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => say(this.spoken, words.filter(Boolean).join(', ')), 150);
  }

  // What is below doesn't jump when a longer text comes and goes.
  roomy() {
    const tall = this.readout.offsetHeight;
    if (tall > (this.tallest ?? 0)) { this.tallest = tall; this.readout.style.minHeight = `${tall}px`; }
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => { this.pending = undefined; this.draw(); });
  }

  // The range of values that the scale covers, with a little air.
  scale() {
    let low = Infinity;
    let high = -Infinity;
    for (const one of this.series) {
      const found = this.height === 'view'
        ? one.pyramid.over(Math.floor(this.from / one.bucket), Math.ceil(this.to / one.bucket)) : one.whole;
      low = Math.min(low, found.low);
      high = Math.max(high, found.high);
    }
    if (!(low <= high)) return [0, 1];
    if (this.height === 'zero') { low = Math.min(0, low); high = Math.max(0, high); }
    const air = (high - low) * 0.06 || Math.max(Math.abs(high) * 0.01, 0.01);
    return [low === 0 && this.height === 'zero' ? 0 : low - air, high + air];
  }

  draw() {
    const wide = this.plot.clientWidth;
    const tall = this.plot.clientHeight;
    if (!wide || !tall) return;
    this.colours = palette(this.root);
    const pen = sized(this.plot, wide, tall);
    const [low, high] = this.scale();
    const labels = scaleLabels(low, high, tall - 46);
    const left = Math.ceil(Math.max(24, ...labels.map(({ text }) => pen.measureText(text).width))) + 10;
    const box = frameBox({ left, top: 16, width: wide - left - 6, height: tall - 44, low, high, from: this.from, to: this.to });
    this.box = box;
    drawScale(pen, labels, box, this.colours);
    if (this.rows) drawTimeAxis(pen, box, { rows: this.rows, time: this.time, frame: this.frame, colours: this.colours });
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top - 8, box.width, box.height + 8);
    pen.clip();
    const dots = this.series.length <= MOST_DOTTED;
    for (const one of this.series) drawCurve(pen, one, box, this.colours.of(one.colour), { dots });
    pen.restore();
    drawEvents(pen, this.events, box, this.colours);
    if (this.seen(this.selected)) {
      drawLine(pen, box.x(this.selected + 0.5), box, this.colours.accent);
    }
    drawMarks(pen, this.marks, box, this.colours, this.selected);
    this.drawBrush(pen, box);
    if (this.seen(this.cursor)) this.drawCursor(pen, box);
    this.drawStrip(wide, box);
    this.method.hidden = !this.series.some((one) => !one.pyramid.ranges && crowded(one, box));
    this.tell();
  }

  drawBrush(pen, box) {
    if (!this.brush) return;
    const [begin, end] = this.brush.map((row) => box.x(row));
    pen.fillStyle = this.colours.accent;
    pen.globalAlpha = 0.16;
    pen.fillRect(Math.min(begin, end), box.top, Math.abs(end - begin), box.height);
    pen.globalAlpha = 1;
    for (const x of [begin, end]) drawLine(pen, x, box, this.colours.accent);
  }

  drawCursor(pen, box) {
    const x = box.x(this.cursor + 0.5);
    drawLine(pen, x, box, this.colours.soft, [4, 3]);
    for (const one of this.series) {
      const value = one.pyramid.ranges ? NaN : one.pyramid.base.data[this.cursor];
      if (this.cursor >= one.pyramid.length || value !== value) continue;
      pen.fillStyle = this.colours.paper;
      dot(pen, x, box.y(value), 5);
      pen.fillStyle = this.colours.of(one.colour);
      dot(pen, x, box.y(value), 3.5);
    }
  }

  // The whole, drawn once for a size, its colours and its values.
  drawWhole(wide, box) {
    const key = [wide, window.devicePixelRatio, this.rows, this.colours.paper, this.drawn].join();
    if (this.wholeKey === key) return;
    this.wholeKey = key;
    const pen = sized(this.wholeStrip, wide, STRIP);
    pen.fillStyle = this.colours.raised;
    pen.fillRect(box.left, 0, box.width, STRIP);
    for (const one of this.series) drawCurve(pen, one, box, this.colours.of(one.colour), { width: 1, dots: false });
    for (const { row } of this.events) drawLine(pen, box.x(row + 0.5), box, this.colours.busy, [2, 2]);
    pen.fillStyle = this.colours.accent;
    for (const { row } of this.marks) pen.fillRect(box.x(row + 0.5) - 1, STRIP - 5, 2, 5);
  }

  // The strip: the whole, with a window where the view is.
  drawStrip(wide, { left, width }) {
    const pen = sized(this.strip, wide, STRIP);
    const whole = this.series.map((one) => one.whole);
    const low = Math.min(...whole.map((one) => one.low));
    const high = Math.max(...whole.map((one) => one.high));
    if (!(low <= high)) return;
    const air = (high - low) * 0.08 || 1;
    const box = frameBox({ left, width, top: 4, height: STRIP - 8, low: low - air, high: high + air, from: 0, to: this.rows });
    this.stripBox = box;
    this.drawWhole(wide, box);
    pen.drawImage(this.wholeStrip, 0, 0, wide, STRIP);
    const [begin, end] = [box.x(this.from), box.x(this.to)];
    pen.fillStyle = this.colours.paper;
    pen.globalAlpha = 0.72;
    pen.fillRect(left, 0, begin - left, STRIP);
    pen.fillRect(end, 0, left + width - end, STRIP);
    pen.globalAlpha = 1;
    pen.strokeStyle = this.colours.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(begin + 0.75, 0.75, Math.max(3, end - begin - 1.5), STRIP - 1.5);
    pen.fillStyle = this.colours.accent;
    for (const x of [begin, end - 4]) pen.fillRect(x, STRIP / 2 - 9, 4, 18);
    if (this.selected !== null) drawLine(pen, box.x(this.selected + 0.5), { top: 0, height: STRIP }, this.colours.accent);
  }

  listen(signal) {
    new Gestures(this, signal);
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw(), { signal });
    // Paper has its own colours, and takes what is drawn at once.
    window.matchMedia('print').addEventListener('change', () => this.draw(), { signal });
    this.watch = new ResizeObserver(() => this.redraw());
    this.watch.observe(this.plot);
  }

  // The row that a time or a frame number belongs to.
  rowOfFrame(wanted) { return rowAt(wanted, this.frame, this.rows); }
}

// The last bucket of ranges may be shorter than the others.
const rowsOf = (one) => (one.pyramid.ranges ? one.rows ?? one.pyramid.length * one.bucket : one.pyramid.length);

// A rectangle with the ways from rows and values to its pixels, and back.
function frameBox(box) {
  const { left, top, width, height, low, high, from, to } = box;
  box.x = (row) => left + ((row - from) / (to - from)) * width;
  box.y = (value) => top + ((high - value) / (high - low)) * height;
  box.row = (x) => from + ((x - left) / width) * (to - from);
  return box;
}
