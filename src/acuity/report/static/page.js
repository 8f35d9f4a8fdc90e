// A report's page: reads its document and puts the parts together.

import { Curves } from './curves.js';
import { PageSeries } from './data.js';
import { button, element, panel, say, typing } from './elements.js';
import { clock, count, number } from './format.js';
import { FrameViewer } from './frames.js';
import { rateChart } from './rates.js';
import { table } from './tables.js';

const HELP = [
  ['On the curve', ''],
  ['← →', 'move the cursor; with Shift ten times as far'],
  ['+ − 0', 'zoom in, zoom out, the whole'],
  ['Page Up/Down', 'pan'],
  ['Enter', 'show the frame under the cursor'],
  ['wheel, drag', 'zoom; drag the strip below to pan; two fingers zoom'],
  ['Everywhere', ''],
  ['C', 'go to the curve'],
  ['M', 'choose a figure'],
  ['W', 'the worst frame in view'],
  ['V', 'distribution of all frames or of those in view'],
  ['[ ]', 'previous and next worst frame'],
  ['1 to 5', 'slider, reference, distorted, difference, heat map'],
  ['X', 'change between reference and distorted'],
  ['Z', 'size of the picture'],
  ['?', 'this help'],
];
const place = (id) => document.getElementById(id) ?? document.body.appendChild(element('section', { id }));

class Report {
  constructor(page) {
    this.page = page;
    this.pictures = page.pictures ?? [];
    this.shown = 0;
    this.keys = {};
  }

  async start() {
    const { page } = this;
    for (const gone of document.querySelectorAll('.fallback')) gone.remove();
    this.help();
    this.facts();
    this.tables();
    const series = (page.series ?? []).filter((one) => one.columns.length && one.frames.count);
    if (page.rates?.length) this.rates(series.map((one) => one.name));
    if (series.length) {
      this.data = await PageSeries.of(series);
      this.curves = new Curves(this.filled('chart'), this.data, { onPick: (row) => this.nearest(row) });
    }
    this.frames();
    document.addEventListener('keydown', (event) => this.key(event));
    await this.curves?.ready;
    if (!this.film) this.curves?.worst();
    document.body.dataset.ready = 'true';
  }

  filled(id) {
    const section = place(id);
    section.hidden = false;
    section.replaceChildren();
    return section;
  }

  facts() {
    const box = document.getElementById('facts');
    for (const dt of box?.querySelectorAll('dt') ?? []) {
      if (dt.textContent !== 'command') continue;
      const dd = dt.nextElementSibling;
      const text = dd.textContent;
      const copy = button('Copy', { 'aria-label': 'Copy the command', onclick: () => this.copy(text, copy) });
      dd.replaceChildren(element('code', {}, text), copy);
    }
  }

  // A page opened from a file may not be allowed to write to the clipboard: then the text is selected.
  async copy(text, from) {
    try {
      await navigator.clipboard.writeText(text);
      say(from, 'Copied');
    } catch {
      window.getSelection().selectAllChildren(from.previousElementSibling);
      say(from, document.execCommand('copy') ? 'Copied' : 'Selected');
    }
    setTimeout(() => say(from, 'Copy'), 2000);
  }

  tables() {
    const { tables = [], first_tables: first = 0 } = this.page;
    for (const [id, some] of [['first-tables', tables.slice(0, first)], ['tables', tables.slice(first)]]) {
      if (!some.length) continue;
      const host = this.filled(id);
      for (const one of some) {
        const { section } = panel(one.title);
        table(section, one);
        host.append(section);
      }
    }
  }

  rates(encodes) {
    const { section } = panel(`${this.page.rate_score ?? 'Score'} over bitrate`);
    rateChart(section, this.page.rates, { scoreName: this.page.rate_score ?? 'score', targets: this.page.targets ?? [], encodes });
    this.filled('rates').append(section);
  }

  frames() {
    const { pictures, page } = this;
    if (!pictures.length && !page.no_pictures) return;
    const { section, controls } = panel(page.kind === 'compare' ? 'Frames' : 'Worst frames');
    this.filled('pictures').append(section);
    if (!pictures.length) {
      section.append(element('p', { class: 'soft' }, page.no_pictures));
      return;
    }
    const many = (page.series ?? []).length > 1;
    this.film = pictures.map((picture, index) => {
      const image = picture.distorted ?? picture.reference ?? picture.heat;
      return element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.open(index) },
        image ? element('img', { src: image, alt: '', loading: 'lazy' }) : null,
        element('span', { class: 'film-line' }, element('span', {}, picture.time === null ? `frame ${count(picture.frame)}` : clock(picture.time, 2)), element('b', {}, number(picture.score, 2))),
        many ? element('span', { class: 'film-line' }, page.series[picture.series]?.name ?? '') : null);
    });
    const film = element('div', { class: 'film', role: 'group', 'aria-label': page.kind === 'compare' ? 'Frames' : 'Worst frames, the worst first' }, ...this.film);
    this.nearby = element('p', { class: 'soft', 'aria-live': 'polite' });
    this.nearby.hidden = true;
    controls.append(element('span', { class: 'joined' },
      button('◂', { class: 'square', 'aria-label': 'Previous worst frame', onclick: () => this.step(-1) }),
      button('▸', { class: 'square', 'aria-label': 'Next worst frame', onclick: () => this.step(1) })));
    section.append(film, this.nearby);
    this.viewer = new FrameViewer(section);
    if (this.data) this.curves.chart.setMarks(pictures.map((picture) => ({ row: this.data.rowOfFrame(picture.frame), label: number(picture.score, 2) })));
    this.open(0);
  }

  open(index, { select = true, words = '' } = {}) {
    this.shown = index;
    const picture = this.pictures[index];
    this.film.forEach((made, at) => made.setAttribute('aria-pressed', at === index));
    const { parentElement: film, offsetLeft, offsetWidth } = this.film[index];
    film.scrollLeft = offsetLeft - film.offsetLeft - (film.clientWidth - offsetWidth) / 2;
    say(this.nearby, words);
    this.nearby.hidden = !words;
    this.viewer.show(picture, this.page.series?.length > 1 ? this.page.series[picture.series]?.name : '');
    if (select && this.data) {
      const row = this.data.rowOfFrame(picture.frame);
      this.curves.chart.select(row);
      this.curves.detail(row);
    }
  }

  step(by) { if (this.film) this.open((this.shown + by + this.pictures.length) % this.pictures.length); }

  // The pictures of a chosen frame, or of the nearest that has some.
  nearest(row) {
    if (!this.film) return;
    const frame = this.data.frames[row];
    let best = 0;
    this.pictures.forEach((picture, index) => {
      if (Math.abs(picture.frame - frame) < Math.abs(this.pictures[best].frame - frame)) best = index;
    });
    const there = this.pictures[best].frame;
    const words = there === frame ? '' : `Frame ${count(frame)} has no pictures in this page; the nearest that has is frame ${count(there)}, shown here.`;
    this.open(best, { select: false, words });
  }

  help() {
    const single = element('input', { type: 'checkbox', checked: true });
    this.single = single;
    const dialog = element('dialog', { 'aria-label': 'Keys' }, element('h2', {}, 'Keys'),
      element('dl', { class: 'keys' }, ...HELP.flatMap(([keys, text]) => (text
        ? [element('dt', {}, element('kbd', {}, keys)), element('dd', {}, text)] : [element('dt', {}, element('b', {}, keys)), element('dd')]))),
      element('p', {}, element('label', { class: 'check' }, single, 'Single letters work everywhere on this page')),
      element('p', {}, button('Close', { autofocus: true, onclick: () => dialog.close() })));
    this.dialog = dialog;
    document.body.append(dialog);
    document.querySelector('.page-head')?.append(element('div', { class: 'tools' },
      button('Print', { onclick: () => window.print() }), button('? Keys', { 'aria-haspopup': 'dialog', onclick: () => dialog.showModal() })));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || !this.single.checked || this.dialog.open) return;
    const acts = {
      '?': () => this.dialog.showModal(),
      '[': () => this.step(-1),
      ']': () => this.step(1),
      c: () => this.curves?.chart.plot.focus(),
      m: () => this.curves?.metric.select.focus(),
      v: () => this.curves?.setScope(!this.curves.ofView),
      w: () => this.curves?.worst(),
      x: () => this.viewer?.flip(),
      z: () => this.viewer?.nextZoom(),
    };
    const act = acts[event.key.toLowerCase()] ?? (/^[1-5]$/.test(event.key) ? () => this.viewer?.numbered(Number(event.key) - 1) : null);
    if (!act) return;
    event.preventDefault();
    act();
  }
}

const source = document.getElementById('page-data');
if (source) await new Report(JSON.parse(source.textContent)).start();
