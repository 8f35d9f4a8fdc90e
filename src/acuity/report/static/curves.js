// The panel with the curves: what is shown, of which series, how its values are spread, and one frame's figures.

import { TimeChart } from './chart.js';
import { button, chooser, element, panel, say } from './elements.js';
import { clock, count, decimalsOf, figure } from './format.js';
import { figureList, histogram } from './histogram.js';
import { lineSample, lookOf } from './looks.js';

const KINDS = [['score', 'Scores'], ['metric', 'Metrics'], ['feature', 'Features']];
const HEIGHTS = [['whole', 'all frames'], ['view', 'frames in view'], ['zero', 'from zero']];
const NUMBER = /^-?\d+(\.\d+)?$/;
// How many characters of a number come with its point.
const behind = (text) => (NUMBER.test(text) && text.includes('.') ? text.length - text.indexOf('.') : 0);
const REST = 120; // milliseconds after the last move until the spread is counted again

export class Curves {
  // data is a PageSeries; onPick(row) is told of a frame that was chosen.
  constructor(host, data, { onPick }) {
    this.data = data;
    this.onPick = onPick;
    this.columns = data.columns();
    this.name = this.columns.find((one) => one.kind === 'score')?.name ?? this.columns[0].name;
    this.on = data.list.map(() => true);
    this.base = null; // the series that the others are compared with
    this.ofView = false;
    this.of = 0; // the series whose spread is shown
    this.shown = [];
    this.build(host);
  }

  build(host) {
    const { section, controls, heading } = panel('Curve over time');
    this.heading = heading;
    const groups = KINDS.map(([kind, group]) => ({ group, options: this.columns.filter((one) => one.kind === kind).map((one) => [one.name, one.label]) }))
      .filter(({ options }) => options.length);
    this.metric = chooser('Figure', groups, (name) => { this.name = name; this.refresh(); }, { class: 'metric' });
    this.metric.select.value = this.name;
    const names = this.data.list.map((one) => one.name);
    const compared = chooser('as', [['', 'values'], ...names.map((name, index) => [index, `difference to ${name}`])], (value) => {
      this.base = value === '' ? null : Number(value);
      this.refresh();
    });
    const height = chooser('Height', HEIGHTS, (value) => this.chart.setHeight(value));
    controls.append(this.metric.field, ...(names.length > 1 ? [compared.field] : []), height.field,
      element('span', { class: 'joined', role: 'group', 'aria-label': 'Zoom' },
        button('−', { class: 'square', 'aria-label': 'Zoom out', onclick: () => this.chart.zoom(2) }),
        button('+', { class: 'square', 'aria-label': 'Zoom in', onclick: () => this.chart.zoom(0.5) }),
        button('Whole', { onclick: () => this.chart.view(0, this.chart.rows) })));
    // The values of the frame at the cursor stand beside the names, which are many.
    this.values = names.map(() => element('b', { class: 'legend-value', 'aria-hidden': 'true' }));
    this.legend = this.legendOf(names);
    this.remark = element('p', { class: 'soft' });
    const place = element('div');
    section.append(this.legend, place, this.remark);
    const { data } = this;
    this.chart = new TimeChart(place, {
      label: 'Curve over time', time: (row) => (data.times ? data.times[row] : null), frame: (row) => data.frames[row],
      onPick: (row) => this.picked(row), onView: () => this.later(),
    });
    this.chart.setEvents(data.list.flatMap((one) => one.events.map((event) => ({
      row: data.rowOfFrame(event.frame), text: names.length > 1 ? `${one.name}: ${event.text}` : event.text,
    }))).sort((a, b) => a.row - b.row));
    host.append(section, element('div', { class: 'pair' }, this.spreadPanel(names), this.framePanel()));
    this.ready = this.refresh();
  }

  // The names with a box each; of more than two, one can be had alone, or all or none at once.
  legendOf(names) {
    const many = names.length > 2;
    this.boxes = names.map((_, index) => element('input', { type: 'checkbox', checked: true, onchange: () => this.turn((at) => (at === index ? this.boxes[at].checked : this.on[at])) }));
    this.alone = many ? names.map((name, index) => button('only', {
      class: 'plain', 'aria-label': `Only ${name}`, 'aria-pressed': 'false', onclick: () => this.turn(this.isAlone(index) ? () => true : (at) => at === index),
    })) : [];
    const entries = names.map((name, index) => element('span', { class: 'legend-entry' },
      element('label', { class: 'check' }, this.boxes[index], lineSample(lookOf(index)), name), this.values[index], this.alone[index]));
    const all = element('div', { class: 'joined', role: 'group', 'aria-label': 'Series shown' },
      button('All', { onclick: () => this.turn(() => true) }), button('None', { onclick: () => this.turn(() => false) }));
    const made = element('fieldset', { class: 'legend' }, element('legend', { class: 'unseen' }, 'Series'), many ? all : null, ...entries);
    made.hidden = names.length < 2;
    return made;
  }

  isAlone(index) { return this.on.every((on, at) => on === (at === index)); }

  // Show the series that `wanted` says yes to.
  turn(wanted) {
    this.on = this.on.map((_, index) => wanted(index));
    this.on.forEach((on, index) => {
      this.boxes[index].checked = on;
      this.alone[index]?.setAttribute('aria-pressed', this.isAlone(index));
    });
    this.refresh();
  }

  spreadPanel(names) {
    const { section, controls, heading } = panel('Distribution');
    this.spreadHeading = heading;
    this.spread = element('div');
    const scope = [['all', 'All'], ['view', 'In view']].map(([name, text]) => button(text, {
      'aria-pressed': String(name === 'all'), onclick: () => this.setScope(name === 'view'),
    }));
    this.scopes = scope;
    this.which = chooser('of', names.map((name, index) => [index, name]), (value) => { this.of = Number(value); this.count(); });
    controls.append(...(names.length > 1 ? [this.which.field] : []), element('span', { class: 'joined', role: 'group', 'aria-label': 'Frames counted' }, ...scope));
    section.append(this.spread);
    return section;
  }

  framePanel() {
    const { section, controls, heading } = panel('Frame');
    this.frameHeading = heading;
    this.frameBody = element('div', {}, element('p', { class: 'soft' }, 'Press a point of the curve, or Enter on it, for all figures of that frame.'));
    this.steps = [['◂', 'Previous frame', -1], ['▸', 'Next frame', 1]].map(([text, label, by]) => button(text, {
      class: 'square', 'aria-label': label, disabled: true, onclick: () => this.chart.pick(Math.min(Math.max(0, this.row + by), this.chart.rows - 1)),
    }));
    const worst = button('Worst in view', { title: 'The worst frame of those in view (W)', onclick: () => this.worst() });
    controls.append(worst, element('span', { class: 'joined' }, ...this.steps));
    section.append(this.frameBody);
    return section;
  }

  // Go to the worst frame in view.
  worst() { this.chart.pick(this.chart.worst(this.chart.rowsInView())); }

  setScope(view) {
    this.ofView = view;
    this.scopes.forEach((made, index) => made.setAttribute('aria-pressed', (index === 1) === view));
    this.count();
  }

  // Fetch what is to be shown and draw it.
  async refresh() {
    const { name, base } = this;
    const known = await Promise.all(this.data.list.map((_, index) => this.data.values(index, name)));
    if (name !== this.name || base !== this.base) return; // another choice came in between
    const column = this.columns.find((one) => one.name === name);
    this.column = column;
    this.shown = known.map((found, index) => found && this.on[index] && this.line(found, known, index)).filter(Boolean);
    say(this.heading, base === null ? `${column.label} over time` : `${column.label}: difference to ${this.data.list[base].name}`);
    this.chart.label = this.heading.textContent;
    for (const value of this.values) say(value, '');
    this.chart.setSeries(this.shown);
    const coarse = this.shown.find((one) => one.high);
    say(this.remark, coarse ? `Shown as ranges of ${count(coarse.bucket)} frames; the JSON report has every figure.` : '');
    this.remark.hidden = !coarse;
    this.count();
  }

  line(found, known, index) {
    const common = {
      name: this.data.list.length > 1 ? this.data.list[index].name : this.column.label,
      ...lookOf(index), place: this.data.list.length > 1 ? this.values[index] : null, stored: found.decimals, unit: this.column.unit, better: this.column.better, index,
    };
    if (this.base === null) return { ...found, ...common };
    const against = known[this.base];
    if (index === this.base || !against || found.high || against.high) return null;
    // Both are rounded to their decimals, so is the difference.
    const stored = Math.min(found.decimals, against.decimals);
    const rows = Math.min(found.values.length, against.values.length);
    const values = Float64Array.from({ length: rows }, (_, row) => Number((found.values[row] - against.values[row]).toFixed(stored)));
    return { ...common, stored, values, rows, name: `${common.name} − ${this.data.list[this.base].name}` };
  }

  later() {
    if (!this.ofView) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.count(), REST);
  }

  // The spread of the values of one series.
  count() {
    const one = this.shown.find((found) => found.index === this.of) ?? this.shown[0];
    say(this.spreadHeading, 'Distribution');
    if (!one) { this.spread.replaceChildren(element('p', { class: 'soft' }, 'Nothing is shown.')); return; }
    this.which.select.value = one.index;
    const column = this.data.column(one.index, this.name);
    const whole = !this.ofView || (this.chart.from <= 0 && this.chart.to >= this.chart.rows);
    const [from, to] = whole ? [0, one.values.length] : this.chart.rowsInView();
    say(this.spreadHeading, `Distribution: ${one.name}, ${whole ? 'all frames' : `${count(Math.min(to, one.values.length) - from)} frames in view`}`);
    // Frames of several models have no common scale: what is said of all is said of these, too.
    const mixed = (column.breaks ?? []).some((row) => from < row && row < to);
    const known = (whole || mixed) && this.base === null ? column.figures : [];
    if (one.high) {
      this.spread.replaceChildren(element('p', { class: 'soft' }, 'This figure is in the page as ranges only, so its values can’t be counted here.'), figureList(known));
      return;
    }
    histogram(this.spread, one.values.slice(from, to), { label: one.name, better: this.base === null ? column.better : null, known, stored: one.stored, colour: one.colour });
  }

  picked(row) {
    this.onPick(row);
    this.detail(row);
  }

  // All figures of a frame.
  async detail(row) {
    this.row = row;
    const { data } = this;
    const cells = await Promise.all(this.columns.map((column) => Promise.all(data.list.map((_, index) => data.values(index, column.name)))));
    if (row !== this.row) return;
    const time = data.times ? ` · ${clock(data.times[row], 3)}` : '';
    say(this.frameHeading, `Frame ${count(data.frames[row])}${time}`);
    this.steps[0].disabled = row === 0;
    this.steps[1].disabled = row >= data.frames.length - 1;
    const value = (column, at, index) => (cells[at][index] ? this.cell(cells[at][index], row) : '');
    const many = data.list.length > 1;
    // Encodes are rows where they are more than the figures: a table is scrolled down more easily than across.
    const turned = data.list.length > this.columns.length;
    const labels = this.columns.map(({ label, unit }) => (unit ? `${label} (${unit})` : label));
    const names = many ? data.list.map((one) => one.name) : ['value'];
    const heads = turned ? ['encode', ...labels] : ['figure', ...names];
    const lines = turned ? names.map((name, index) => [name, false, this.columns.map((column, at) => value(column, at, index))])
      : this.columns.map((column, at) => [labels[at], column.name === this.name, names.map((_, index) => value(column, at, index))]);
    // Points stand below each other: digits that a figure doesn't have are there unseen.
    const most = heads.slice(1).map((_, place) => Math.max(0, ...lines.map(([, , texts]) => behind(texts[place]))));
    const missing = (text, place) => ('.000000000000').slice(behind(text), most[place]);
    const rows = lines.map(([label, current, texts]) => element('tr', { 'aria-current': current ? 'true' : null },
      element('th', { scope: 'row' }, label),
      ...texts.map((text, place) => element('td', { class: 'number' }, text, NUMBER.test(text) ? element('span', { class: 'digits' }, missing(text, place)) : null))));
    this.frameBody.replaceChildren(element('div', { class: 'table-box frame-box', role: 'region', tabindex: 0, 'aria-label': 'Figures of the frame' }, element('table', {},
      element('thead', {}, element('tr', {}, ...heads.map((text, place) => element('th', { scope: 'col', class: place ? 'number' : null }, text)))),
      element('tbody', {}, ...rows))));
  }

  cell(found, row) {
    if (row >= found.rows) return '–';
    const index = Math.floor(row / found.bucket);
    // Six decimals are what reports have; tiny figures have three digits at least.
    const digits = (value) => (value === 0 || !(Math.abs(value) < 0.001) ? 6 : Math.max(6, 2 - Math.floor(Math.log10(Math.abs(value)))));
    const shown = (value) => figure(value, digits(value), found.decimals);
    return found.high ? `${shown(found.values[index])} to ${shown(found.high[index])}` : shown(found.values[row]);
  }
}
