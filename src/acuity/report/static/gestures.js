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

// Listens for a chart until the signal is aborted.
export class Gestures {
  constructor(chart, signal) {
    this.chart = chart;
    this.touches = new Map();
    this.aimed = false; // the pointer moved on the chart since the page scrolled
    this.grip = null;
    this.listen(signal);
  }

  listen(signal) {
    const on = (target, kind, act, options = {}) => target.addEventListener(kind, act.bind(this), { signal, ...options });
    on(this.chart.plot, 'pointerdown', this.pressed);
    on(this.chart.plot, 'pointermove', this.moved);
    on(this.chart.plot, 'pointerup', this.released);
    on(this.chart.plot, 'pointercancel', this.dropped);
    on(this.chart.plot, 'pointerleave', (event) => { if (!this.touches.size && event.pointerType !== 'touch') this.chart.point(null); });
    on(this.chart.plot, 'dblclick', () => this.chart.view(0, this.chart.rows));
    on(this.chart.plot, 'wheel', this.wheeled, { passive: false });
    on(this.chart.strip, 'pointerdown', this.stripPressed);
    on(this.chart.strip, 'pointermove', this.stripMoved);
    on(this.chart.strip, 'pointerup', () => { this.grip = null; });
    on(this.chart.strip, 'dblclick', () => this.chart.view(0, this.chart.rows));
    on(this.chart.plot, 'keydown', (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || !this.chart.rows) return;
      event.preventDefault();
      act(this.chart, event);
    });
    // A turn of the wheel that scrolls the page goes on doing so when the chart comes under the pointer.
    on(window, 'scroll', () => { this.aimed = false; }, { passive: true });
  }

  place(event) { return this.chart.box.row(event.offsetX); }

  pressed(event) {
    if (!this.chart.box || event.button > 0) return;
    this.chart.plot.setPointerCapture(event.pointerId);
    this.touches.set(event.pointerId, { x: event.offsetX, start: event.offsetX, y: event.offsetY, from: this.chart.from, to: this.chart.to });
    if (event.pointerType !== 'touch') this.chart.brush = [this.place(event), this.place(event)];
  }

  moved(event) {
    if (!this.chart.box) return;
    this.aimed = true;
    const touch = this.touches.get(event.pointerId);
    if (touch) touch.x = event.offsetX;
    if (this.touches.size === 2) this.pinched();
    else if (touch && event.pointerType === 'touch') {
      const by = ((touch.start - touch.x) / this.chart.box.width) * (touch.to - touch.from);
      const from = Math.min(Math.max(0, touch.from + by), this.chart.rows - (touch.to - touch.from));
      this.chart.show(from, from + touch.to - touch.from);
    } else if (touch && this.chart.brush) {
      this.chart.brush = [this.chart.brush[0], Math.min(Math.max(this.chart.from, this.place(event)), this.chart.to)];
      this.chart.point(Math.floor(Math.min(this.chart.brush[1], this.chart.to - 1e-6)));
    } else this.hover(event);
  }

  hover(event) {
    const { chart } = this;
    const row = Math.floor(this.place(event));
    const inside = row >= chart.from - 1 && row <= chart.to;
    chart.point(inside ? chart.worst(chart.pixel(Math.min(Math.max(row, Math.floor(chart.from)), Math.ceil(chart.to) - 1))) : null);
  }

  // Two fingers: the rows below them stay below them.
  pinched() {
    const [one, two] = [...this.touches.values()];
    const wide = one.to - one.from;
    const row = (x) => one.from + ((x - this.chart.box.left) / this.chart.box.width) * wide;
    const [a, b] = [row(one.start), row(two.start)];
    const apart = two.x - one.x;
    if (Math.abs(apart) < 12 || a === b) return;
    const perPixel = Math.min(Math.max(Math.abs(b - a) / Math.abs(apart), 1e-6), this.chart.rows / this.chart.box.width);
    const from = (a + b) / 2 - ((one.x + two.x) / 2 - this.chart.box.left) * perPixel;
    this.chart.show(from, from + perPixel * this.chart.box.width);
  }

  released(event) {
    const touch = this.touches.get(event.pointerId);
    if (!touch) return;
    const still = Math.abs(event.offsetX - touch.start) < 5 && Math.abs(event.offsetY - touch.y) < 8;
    const brush = this.chart.brush && [this.chart.brush[0], Math.min(Math.max(this.chart.from, this.place(event)), this.chart.to)];
    this.dropped(event);
    if (still && !this.touches.size && this.chart.rows) this.chart.pick(this.nearest(event.offsetX));
    else if (brush && Math.abs(event.offsetX - touch.start) >= 5) this.chart.show(Math.min(...brush), Math.max(...brush));
    this.chart.redraw();
  }

  dropped(event) {
    this.touches.delete(event.pointerId);
    for (const rest of this.touches.values()) Object.assign(rest, { start: rest.x, from: this.chart.from, to: this.chart.to });
    this.chart.brush = null;
  }

  // The row below the pointer, or that of a mark beside it.
  nearest(x) {
    const found = this.chart.marks.map(({ row }) => ({ row, far: Math.abs(this.chart.box.x(row + 0.5) - x) }))
      .filter(({ far }) => far <= CLOSE).sort((a, b) => a.far - b.far)[0];
    return found?.row ?? this.chart.worst(this.chart.pixel(Math.min(Math.max(0, Math.floor(this.chart.box.row(x))), this.chart.rows - 1)));
  }

  wheeled(event) {
    if (!this.chart.box || (!this.aimed && !event.ctrlKey)) return;
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.chart.pan((sideways * unit) / this.chart.box.width);
      return;
    }
    if (event.deltaY > 0 && this.chart.from <= 0 && this.chart.to >= this.chart.rows) return; // the whole is shown: the page scrolls on
    event.preventDefault();
    this.chart.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY * unit)) * 0.0025), this.place(event));
    this.hover(event);
  }

  // On the strip: drag the window or its ends; press elsewhere and the window comes there.
  stripPressed(event) {
    if (!this.chart.stripBox || event.button > 0) return;
    this.chart.strip.setPointerCapture(event.pointerId);
    const box = this.chart.stripBox;
    const x = event.offsetX;
    const [begin, end] = [box.x(this.chart.from), box.x(this.chart.to)];
    const whole = this.chart.from <= 0 && this.chart.to >= this.chart.rows;
    const row = box.row(x);
    if (Math.abs(x - begin) < GRIP) this.grip = { move: (now) => this.chart.show(Math.min(now, this.chart.to - 1), this.chart.to) };
    else if (Math.abs(x - end) < GRIP) this.grip = { move: (now) => this.chart.show(this.chart.from, Math.max(now, this.chart.from + 1)) };
    else if (whole) this.grip = { move: (now) => { if (Math.abs(box.x(now) - x) > 4) this.chart.show(Math.min(now, row), Math.max(now, row)); } };
    else {
      if (x < begin || x > end) this.chart.pan((row - (this.chart.from + this.chart.to) / 2) / (this.chart.to - this.chart.from));
      let last = row;
      this.grip = { move: (now) => { this.chart.pan((now - last) / (this.chart.to - this.chart.from)); last = now; } };
    }
  }

  stripMoved(event) {
    if (!this.chart.stripBox) return;
    const [begin, end] = [this.chart.stripBox.x(this.chart.from), this.chart.stripBox.x(this.chart.to)];
    const edge = Math.min(Math.abs(event.offsetX - begin), Math.abs(event.offsetX - end)) < GRIP;
    this.chart.strip.style.cursor = edge ? 'ew-resize' : this.grip ? 'grabbing' : 'grab';
    this.grip?.move(Math.min(Math.max(0, this.chart.stripBox.row(event.offsetX)), this.chart.rows));
  }

}
