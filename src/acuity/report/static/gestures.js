// Pointers, wheel and keys of a chart.

const KEYS = {
  ArrowLeft: (chart, event) => chart.step(event.shiftKey ? -10 : -1),
  ArrowRight: (chart, event) => chart.step(event.shiftKey ? 10 : 1),
  Home: (chart) => chart.point(0),
  End: (chart) => chart.point(chart.rows - 1),
  PageUp: (chart) => chart.pan(-0.9),
  PageDown: (chart) => chart.pan(0.9),
  '+': (chart) => chart.zoom(0.5),
  '=': (chart) => chart.zoom(0.5),
  '-': (chart) => chart.zoom(2),
  0: (chart) => chart.view(0, chart.rows),
  Enter: (chart) => chart.pick(chart.cursor ?? chart.selected ?? Math.floor((chart.from + chart.to) / 2)),
  Escape: (chart) => chart.point(null),
};
const CLOSE = 9; // pixels around a mark that belong to it
const GRIP = 7; // and around an end of the window on the strip
const STILL = 5; // a press that moves less is no drag

const within = (value, low, high) => Math.min(Math.max(low, value), high);

// Listens for a chart until the signal is aborted.
export class Gestures {
  constructor(chart, signal) {
    this.chart = chart;
    this.touches = new Map();
    this.aimed = false; // the pointer moved on the chart since the page scrolled
    this.grip = null; // what a move on the strip does
    const { plot, strip } = chart;
    const on = (target, kind, act, options = {}) => target.addEventListener(kind, act, { signal, ...options });
    on(plot, 'pointerdown', (event) => this.pressed(event));
    on(plot, 'pointermove', (event) => this.moved(event));
    on(plot, 'pointerup', (event) => this.released(event));
    on(plot, 'pointercancel', (event) => { this.dropped(event); chart.redraw(); });
    on(plot, 'pointerleave', (event) => { if (!this.touches.size && event.pointerType !== 'touch') chart.point(null); });
    on(plot, 'wheel', (event) => this.wheeled(event), { passive: false });
    on(plot, 'keydown', (event) => this.key(event));
    on(strip, 'pointerdown', (event) => this.stripPressed(event));
    on(strip, 'pointermove', (event) => this.stripMoved(event));
    for (const end of ['pointerup', 'pointercancel']) on(strip, end, () => { this.grip = null; });
    for (const canvas of [plot, strip]) on(canvas, 'dblclick', () => chart.view(0, chart.rows));
    // A turn of the wheel that scrolls the page goes on doing so when the chart comes under the pointer.
    on(window, 'scroll', () => { this.aimed = false; }, { passive: true });
  }

  key(event) {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || !this.chart.rows) return;
    event.preventDefault();
    act(this.chart, event);
  }

  // The row below the pointer, within the view; it may lie between two frames.
  place(event) { return within(this.chart.box.row(event.offsetX), this.chart.from, this.chart.to); }

  // The frame to look at below the pointer.
  frameAt(event) {
    const { chart } = this;
    return chart.worst(chart.pixel(within(Math.floor(chart.box.row(event.offsetX)), Math.floor(chart.from), Math.ceil(chart.to) - 1)));
  }

  pressed(event) {
    const { chart } = this;
    if (!chart.box || event.button > 0) return;
    chart.plot.setPointerCapture(event.pointerId);
    this.touches.set(event.pointerId, { x: event.offsetX, start: event.offsetX, y: event.offsetY, from: chart.from, to: chart.to });
    if (event.pointerType !== 'touch') chart.brush = [this.place(event), this.place(event)];
    else if (this.touches.size > 1) this.restart();
  }

  // Fingers begin anew from where they are.
  restart() {
    for (const touch of this.touches.values()) Object.assign(touch, { start: touch.x, from: this.chart.from, to: this.chart.to, pinched: true });
  }

  moved(event) {
    const { chart } = this;
    if (!chart.box) return;
    this.aimed = true;
    const touch = this.touches.get(event.pointerId);
    if (touch) touch.x = event.offsetX;
    if (this.touches.size === 2) this.pinch();
    else if (touch && event.pointerType === 'touch') {
      const wide = touch.to - touch.from;
      const from = within(touch.from + ((touch.start - touch.x) / chart.box.width) * wide, 0, chart.rows - wide);
      chart.show(from, from + wide);
    } else if (chart.brush) {
      chart.brush[1] = this.place(event);
      chart.point(this.frameAt(event));
    } else this.hover(event);
  }

  hover(event) {
    const { left, width } = this.chart.box;
    const beside = event.offsetX < left - CLOSE || event.offsetX > left + width + CLOSE;
    this.chart.point(beside ? null : this.frameAt(event));
  }

  // Two fingers: the rows below them stay below them.
  pinch() {
    const { box, rows } = this.chart;
    const [one, two] = [...this.touches.values()];
    const row = (x) => one.from + ((x - box.left) / box.width) * (one.to - one.from);
    const [a, b] = [row(one.start), row(two.start)];
    if (Math.abs(two.x - one.x) < 12 || a === b) return;
    const perPixel = Math.min(Math.abs((b - a) / (two.x - one.x)), rows / box.width);
    const from = within((a + b) / 2 - ((one.x + two.x) / 2 - box.left) * perPixel, 0, rows - perPixel * box.width);
    this.chart.show(from, from + perPixel * box.width);
  }

  released(event) {
    const { chart } = this;
    const touch = this.touches.get(event.pointerId);
    if (!touch) return;
    const moved = Math.abs(event.offsetX - touch.start);
    const brush = chart.brush && [chart.brush[0], this.place(event)];
    this.dropped(event);
    if (moved < STILL && Math.abs(event.offsetY - touch.y) < 8 && !touch.pinched && chart.rows) chart.pick(this.nearest(event));
    else if (brush && moved >= STILL) chart.show(Math.min(...brush), Math.max(...brush));
    chart.redraw();
  }

  dropped(event) {
    this.touches.delete(event.pointerId);
    this.restart();
    this.chart.brush = null;
  }

  // The frame below the pointer, or that of a mark beside it.
  nearest(event) {
    const { marks, box } = this.chart;
    const found = marks.map(({ row }) => ({ row, far: Math.abs(box.x(row + 0.5) - event.offsetX) }))
      .filter(({ far }) => far <= CLOSE).sort((a, b) => a.far - b.far)[0];
    return found?.row ?? this.frameAt(event);
  }

  wheeled(event) {
    const { chart } = this;
    if (!chart.box || (!this.aimed && !event.ctrlKey)) return;
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      chart.pan(((event.deltaX || event.deltaY) * unit) / chart.box.width);
      return;
    }
    if (event.deltaY > 0 && chart.from <= 0 && chart.to >= chart.rows) return; // the whole is shown: the page scrolls on
    event.preventDefault();
    chart.zoom(Math.exp(within(event.deltaY * unit, -200, 200) * 0.0025), this.place(event));
    this.hover(event);
  }

  // On the strip: drag the window or its ends; press elsewhere and the window comes there.
  stripPressed(event) {
    const { chart } = this;
    const box = chart.stripBox;
    if (!box || event.button > 0) return;
    chart.strip.setPointerCapture(event.pointerId);
    const x = event.offsetX;
    const row = box.row(x);
    const [begin, end] = [box.x(chart.from), box.x(chart.to)];
    if (Math.abs(x - begin) < GRIP) this.grip = (now) => chart.show(Math.min(now, chart.to - 1), chart.to);
    else if (Math.abs(x - end) < GRIP) this.grip = (now) => chart.show(chart.from, Math.max(now, chart.from + 1));
    else if (chart.from <= 0 && chart.to >= chart.rows) {
      this.grip = (now) => { if (Math.abs(box.x(now) - x) >= STILL) chart.show(Math.min(now, row), Math.max(now, row)); };
    } else {
      if (x < begin || x > end) chart.pan((row - (chart.from + chart.to) / 2) / (chart.to - chart.from));
      const held = row - chart.from;
      this.grip = (now) => chart.pan((now - held - chart.from) / (chart.to - chart.from));
    }
  }

  stripMoved(event) {
    const { strip, stripBox: box, from, to, rows } = this.chart;
    if (!box) return;
    const edge = Math.min(Math.abs(event.offsetX - box.x(from)), Math.abs(event.offsetX - box.x(to))) < GRIP;
    strip.style.cursor = edge ? 'ew-resize' : this.grip ? 'grabbing' : 'grab';
    this.grip?.(within(box.row(event.offsetX), 0, rows));
  }
}
