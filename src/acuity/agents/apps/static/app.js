// The page that hosts show beside the answers of scoring tools: score, curve, worst frames, progress of a job.

import { TimeChart } from './chart.js';
import { chooser, element, panel, say } from './elements.js';
import { FrameViewer } from './frames.js';
import { count, figure } from './format.js';
import { histogram } from './histogram.js';
import { answerCards, answerClock, answerColumns, answerDocument, answerEvents, answerFailure, answerLabel, answerNotes, answerPictures, answerReport, answerTitle, isJob, isObject, isReport, listOf, MEASURED } from './answer.js';
import { comparisonNotes, comparisonTitle, isComparison, readComparison, showComparison, showRanking } from './comparison.js';
import { Figures, readTable } from './figures.js';
import { AppHost, followTheme, reportSize } from './host.js';

const POLL = 2000; // milliseconds between two questions about a job or a measurement
const SLOWEST_POLL = 10_000;
const FAILED_POLLS = 3; // in a row
const WAITING = new Set(['queued', 'running']);
const STORED_DECIMALS = 6; // of figures in reports
const SHOWN_DECIMALS = 2;

class App {
  constructor(place) {
    this.place = place;
    this.figures = new Figures();
    this.chart = null;
    this.curves = null; // of a comparison
    this.column = null;
    this.timer = null;
    this.report = null;
    this.failed = 0;
    this.round = 0; // counts answers, so that what belongs to an older one is dropped
    this.host = new AppHost(
      { name: 'acuity', version: place.dataset.version },
      {
        'tool-input': () => this.tell('Waiting for the result …'),
        'tool-result': (result) => this.answered(result),
        'tool-cancelled': ({ reason }) => this.tell(`The call was cancelled${reason ? `: ${String(reason)}` : ''}.`),
        'host-context-changed': (context) => this.adapt(context),
        teardown: () => this.close(),
      },
    );
    this.heading = element('h1', { dir: 'auto' }, 'Acuity');
    this.subtitle = element('p', { class: 'subtitle', dir: 'auto' });
    this.status = element('p', { id: 'status', role: 'status' }, 'Connecting to the host …');
    this.progress = element('progress', { id: 'progress', 'aria-label': 'Progress of the job', hidden: true });
    this.parts = Object.fromEntries(
      ['cards', 'notes', 'tables', 'curve', 'rates', 'spread', 'pictures'].map((name) => [name, element('div', { id: name })]),
    );
    place.replaceChildren(
      element('header', { class: 'page-head' }, this.heading, this.subtitle),
      element('main', { id: 'content' }, this.status, this.progress, ...Object.values(this.parts)),
    );
  }

  async start() {
    if (window.parent === window) {
      this.tell('This page shows results inside an MCP host; opened by itself it has none.');
      return;
    }
    await this.host.connect();
    this.unsize = reportSize(this.host);
    if (!this.round) this.tell('Waiting for the result …');
  }

  close() {
    clearTimeout(this.timer);
    this.unsize?.();
    this.round += 1; // what is still being read is dropped
  }

  adapt({ theme, safeAreaInsets }) {
    followTheme(theme);
    for (const side of ['top', 'right', 'bottom', 'left']) {
      const inset = Number(safeAreaInsets?.[side]);
      if (inset > 0) document.body.style.setProperty(`padding-${side}`, `${inset}px`);
    }
    this.chart?.redraw();
    this.curves?.chart.redraw();
  }

  tell(text) {
    say(this.status, text);
    this.status.hidden = text === '';
  }

  // Takes the result of a call: of the tool, or of the page's own question about a job.
  answered(result) {
    clearTimeout(this.timer);
    const round = (this.round += 1);
    const found = answerDocument(result);
    if (result?.isError || found === null) this.tell(answerFailure(result));
    else if (isReport(found)) this.showReport(found, listOf(result.content), round);
    else if (isComparison(found)) this.showComparison(found, round);
    else if (isJob(found)) this.showJob(found, listOf(result.content), round);
    else this.tell('This answer has no score to draw; its text has all it says.');
  }

  showJob(job, content, round) {
    say(this.heading, job.title ?? 'Job');
    say(this.subtitle, [job.tool, job.status].filter((part) => typeof part === 'string').join(', '));
    if (isObject(job.result) && isReport(job.result)) {
      this.progress.hidden = true;
      this.showReport(job.result, content, round);
      return;
    }
    if (isComparison(job.result)) {
      this.progress.hidden = true;
      this.showComparison(job.result, round);
      return;
    }
    if (!WAITING.has(job.status)) {
      this.progress.hidden = true;
      this.tell(job.error ? String(job.error) : `The job is ${job.status}; the text of the answer has its result.`);
      return;
    }
    const { done, total, message } = isObject(job.progress) ? job.progress : {};
    this.progress.hidden = false;
    if (total > 0) Object.assign(this.progress, { max: total, value: Math.min(done, total) });
    else this.progress.removeAttribute('value');
    const queued = Number.isInteger(job.queue_position) ? `, number ${job.queue_position} in the queue` : '';
    this.tell(typeof message === 'string' && message ? message : `The job is ${job.status}${queued}.`);
    this.ask('get_job', { job_id: job.job_id }, round);
  }

  // Asks the server again through the host, after a while.
  ask(tool, given, round) {
    if (!this.host.callsTools) {
      this.tell(`${this.status.textContent} This host asks nothing for the page: call ${tool} again.`);
      return;
    }
    this.timer = setTimeout(async () => {
      try {
        const result = await this.host.call(tool, given);
        this.failed = 0;
        if (round === this.round) this.answered(result);
      } catch (error) {
        this.failed += 1;
        if (round !== this.round) return;
        if (this.failed < FAILED_POLLS) this.ask(tool, given, round);
        else this.tell(`Asking again failed: ${error.message}`);
      }
    }, Math.min(SLOWEST_POLL, POLL * 2 ** this.failed));
  }

  async showComparison(found, round) {
    const title = comparisonTitle(found);
    say(this.heading, title.name);
    say(this.subtitle, title.against);
    this.tell('');
    this.showNotes(comparisonNotes(found));
    showRanking(this.parts.tables, found);
    if (!this.host.readsResources) {
      this.tell('This host lets the page read no resources, so there are no curves; the report of the answer has them.');
      return;
    }
    try {
      const page = await readComparison(this.host, found);
      if (page !== null && round === this.round) this.curves = await showComparison(page, this.parts);
    } catch (error) {
      if (round === this.round) this.tell(`The curves could not be read: ${error.message}`);
    }
  }

  async showReport(report, content, round) {
    const title = answerTitle(report);
    say(this.heading, title.name);
    say(this.subtitle, title.against);
    this.tell('');
    this.showCards(report);
    this.showNotes(answerNotes(report));
    this.showPictures(answerPictures(report, content));
    const partial = report.acuity?.partial === true;
    if (!partial || report.frames.length) this.figures = new Figures();
    this.figures.addRows(report.frames);
    try {
      if (!report.frames.length) await this.readFigures(report, round);
    } catch (error) {
      if (round === this.round) this.tell(`The figures of the frames could not be read: ${error.message}`);
    }
    if (round !== this.round) return;
    this.showCurve(report);
    if (partial && String(report.report).startsWith(MEASURED)) this.ask('vmaf.report', { include_frames: false }, round);
  }

  // Reads the figures that the answer leaves out, and draws while they come.
  async readFigures(report, round) {
    const uri = answerReport(report);
    const expected = Number(report.frames_omitted?.count ?? report.acuity?.frames ?? 0);
    if (uri === null || !expected) return;
    if (!this.host.readsResources) {
      this.tell(`The curve needs the figures of ${count(expected)} frames, and this host lets the page read no resources. Ask with include_frames: true for a short clip.`);
      return;
    }
    const last = Number(report.acuity?.input?.pairs ?? report.acuity?.frames_read ?? Infinity);
    const wanted = {
      count: expected,
      last: Number.isFinite(last) ? last : Infinity,
      step: Math.max(1, Number(report.acuity?.subsample) || 1),
      columns: Object.keys(report.pooled_metrics).length,
    };
    await readTable(this.host, uri, this.figures, wanted, () => {
      if (round !== this.round) return false;
      if (this.figures.count < expected) this.tell(`${count(this.figures.count)} of ${count(expected)} frames are read …`);
      this.showCurve(report);
      return true;
    });
    if (round === this.round) this.tell('');
  }

  showCards(report) {
    const cards = answerCards(report).map((card) => element('div', { class: 'card' },
      element('dt', { dir: 'auto' }, card.label),
      element('dd', { class: 'value' }, figure(card.value, SHOWN_DECIMALS, STORED_DECIMALS)),
      element('dd', { class: 'detail', dir: 'auto' }, card.detail)));
    this.parts.cards.replaceChildren(...(cards.length ? [element('dl', { class: 'cards' }, ...cards)] : []));
  }

  showNotes(said) {
    const notes = said.map((note) => element('li', { 'data-level': note.level },
      note.level === 'warning' ? element('strong', { class: 'level' }, 'Warning: ') : null,
      element('span', { dir: 'auto' }, note.text)));
    this.parts.notes.replaceChildren(...(notes.length ? [element('ul', { class: 'notes' }, ...notes)] : []));
  }

  showPictures(pictures) {
    if (!pictures.length) return;
    const { section, controls } = panel('Worst frames');
    const shown = element('div');
    const viewer = new FrameViewer(shown);
    const options = pictures.map((one, at) => [String(at), `frame ${one.frame}${one.score === null ? '' : `, ${figure(one.score, SHOWN_DECIMALS, STORED_DECIMALS)}`}`]);
    if (pictures.length > 1) controls.append(chooser('Frame', options, (at) => viewer.show(pictures[Number(at)])).field);
    section.append(shown);
    this.parts.pictures.replaceChildren(section);
    viewer.show(pictures[0]);
  }

  showCurve(report) {
    this.report = report;
    if (!this.figures.count) return;
    const names = answerColumns(report, this.figures);
    if (!names.includes(this.column)) [this.column] = names;
    if (this.chart === null) this.makeChart(report, names);
    const values = this.figures.values(this.column);
    this.chart.setSeries([{ name: answerLabel(this.column), colour: '--curve-1', stored: STORED_DECIMALS, values }]);
    this.chart.setEvents(answerEvents(report, this.figures));
    this.showSpread(values);
  }

  makeChart(report, names) {
    const { section, controls } = panel('Over time');
    const options = names.map((name) => [name, answerLabel(name)]);
    const choose = (name) => {
      this.column = name;
      this.showCurve(this.report);
    };
    if (names.length > 1) controls.append(chooser('Figure', options, choose).field);
    const seconds = answerClock(report);
    const frame = (row) => this.figures.frames[row] ?? row;
    this.parts.curve.replaceChildren(section);
    this.chart = new TimeChart(section, {
      label: 'Quality over time', frame, time: (row) => (seconds === null ? null : seconds(frame(row))),
    });
  }

  showSpread(values) {
    if (this.spread === undefined) {
      const { section } = panel('Distribution');
      this.spread = element('div');
      section.append(this.spread);
      this.parts.spread.replaceChildren(section);
    }
    histogram(this.spread, values, { label: answerLabel(this.column), better: null });
  }
}

const app = new App(document.getElementById('app'));
app.start().catch((error) => app.tell(`The host did not answer: ${error.message}`));
