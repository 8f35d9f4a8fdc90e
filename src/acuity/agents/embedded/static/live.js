// The live page: asks for what is new once a second, draws it, and has buttons that steer.
//
// A look is one request, for the frames behind the last one the page has and for the state of the measurement.
// A tab that nobody sees looks seldom, and one whose server is busy looks less often.

import { TimeChart } from './chart.js';
import { element, say } from './elements.js';
import { clock, count, number } from './format.js';
import { LiveSession, Refusal, Unauthorized, setToken, takeToken } from './live_session.js';
import { ENDS, Steering } from './live_steering.js';
import { WorstFrames } from './live_worst.js';

const LOOK = 800; // milliseconds between two looks
const LOOK_SLOWLY = 5000; // in a tab that nobody sees, or without a server
const WORST_EACH = 4000;

const byId = (id) => document.getElementById(id);
const session = new LiveSession();
const scores = { frames: [], times: [], values: [], next: 0, repredictions: 0, name: '', models: [] };
window.acuityLive = scores; // for those who open the console, and for tests
let chart = null;
let over = false; // no more frames come, and all there are were read
let told = -Infinity; // when the worst were asked for
let lost = false;
let looking = false;
let again = false; // something happened during a look: the next one follows at once
let timer = 0;
const cards = new Map();

// Seconds that count up or down are no news, so they aren't read aloud.
function state(name, text, seconds = '') {
  document.body.dataset.state = name;
  say(byId('state-text'), text);
  say(byId('state-seconds'), seconds);
}

// ---- the curve ----------------------------------------------------------------------------------

function reset() {
  scores.frames = [];
  scores.times = [];
  scores.values = [];
  scores.next = 0;
  scores.drawnModels = undefined;
  chart?.destroy();
  chart = null;
  byId('curve').replaceChildren();
}

function extend(found) {
  scores.name = found.name;
  if (found.frames.length === 0) return;
  scores.frames.push(...found.frames);
  scores.times.push(...found.times);
  const values = Float64Array.from(found.scores, (value) => value ?? NaN);
  scores.values.push(...values);
  byId('curve-empty').hidden = true;
  if (chart === null) {
    chart = new TimeChart(byId('curve'), {
      label: found.name === 'vmaf' ? 'VMAF' : found.name,
      time: (row) => scores.times[row],
      frame: (row) => scores.frames[row],
      onPick: () => {},
      onView: () => {},
    });
    chart.setSeries([{ name: found.name, colour: '--curve-1', dash: [], stored: 17, values }]);
  } else {
    chart.append(0, values);
  }
}

function row(frame) {
  let low = 0;
  let high = scores.frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scores.frames[middle] < frame) low = middle + 1;
    else high = middle;
  }
  return low;
}

function events(models) {
  const key = JSON.stringify(models);
  if (chart === null || key === scores.drawnModels) return;
  scores.drawnModels = key;
  chart.setEvents(models.slice(1).map(({ model, first }) => ({ row: row(first), text: `${model} from frame ${count(first)} on` })));
}

// ---- figures ------------------------------------------------------------------------------------

function card(id, label, value, detail = '', tone = 'plain') {
  let found = cards.get(id);
  if (found === undefined) {
    const parts = [element('dt'), element('dd', { class: 'value' }), element('dd', { class: 'detail' })];
    found = { item: element('div', { class: 'card', id: `card-${id}` }, ...parts), parts };
    cards.set(id, found);
    byId('cards').append(found.item);
  }
  [label, value, detail].forEach((text, index) => say(found.parts[index], text));
  found.item.dataset.tone = tone;
}

// The files' names, where the command has told them.
function named({ reference, distorted }) {
  if (distorted === null) return;
  say(byId('title'), distorted);
  say(byId('subtitle'), reference === null ? 'without a reference' : `against ${reference}`);
}

// The means of the metrics that were asked for beside the model.
async function metrics(status) {
  for (const { name, column, unit, decimals } of status.metrics) {
    const { aggregate, score } = await session.call('vmaf.score', { name: column });
    const shown = (value) => `${number(value, decimals)}${unit ? ` ${unit}` : ''}`;
    card(column, `${name.toUpperCase()}, mean${over ? '' : ' so far'}`, shown(aggregate.mean), `lowest ${shown(aggregate.min)}, newest ${shown(score)}`);
  }
}

function show(status, curve) {
  const { aggregate } = curve;
  const total = status.frames_total;
  const done = status.frames_scored;
  const left = total === null || status.fps <= 0 ? null : Math.max(total - done, 0) / status.fps;
  const label = curve.name === 'vmaf' ? 'VMAF' : curve.name;
  // Models have no common scale: after a swap each model's frames have cards of their own.
  const parts = aggregate?.parts ?? [aggregate];
  for (const [id, { item }] of cards) {
    if (Number(/\d+$/.exec(id)) >= parts.length) { // all frames were given to one model
      item.remove();
      cards.delete(id);
    }
  }
  parts.forEach((part, index) => {
    const by = part?.model ? `${part.model}, ` : '';
    card(`mean${index || ''}`, `${label}, mean${over ? '' : ' so far'}`, number(part?.mean, 2), part ? `${by}of ${count(part.frames)} frames` : '');
    card(`lowest${index || ''}`, 'Lowest', number(part?.min, 2), part ? `${by}harmonic mean ${number(part.harmonic_mean, 2)}` : '');
  });
  card('last', 'Newest frame', number(status.last_score, 2), status.last_frame === null ? '' : `frame ${count(status.last_frame)}`);
  card('frames', 'Frames done', count(done), total === null ? 'how many there are is not known' : `of ${count(total)}`);
  if (status.paused) card('speed', 'Speed', '–', 'paused');
  else card('speed', 'Speed', `${number(status.fps, 1)} fps`, over ? 'measured' : left === null ? '' : `about ${clock(left)} left`);
  card('model', 'Model', status.model ?? 'none', status.subsample === 1 ? 'every frame' : `one frame in ${status.subsample}`);
  const bar = byId('progress');
  if (total !== null || over) {
    bar.max = Math.max(over ? done : total, 1);
    bar.value = done;
  } else {
    bar.removeAttribute('value');
  }
  say(byId('progress-text'), total ? `${Math.min(100, Math.floor((100 * done) / total))} %` : '');
  byId('main').dataset.frames = String(scores.frames.length);
}

let said = []; // the state as it was shown last
const SAID = {
  waiting: () => ['live', 'Waiting for the first frame'],
  measuring: () => ['live', 'Measuring'],
  waiting_for_input: (status) => ['busy', 'Waiting for input', `${number(status.waiting_seconds, 0)} s`],
  paused: (status) => ['paused', ...paused(status)],
  finishing: () => ['busy', 'Finishing'],
  over: () => ['over', 'Measured to the end'],
  failed: (status) => ['lost', `Failed: ${status.reason}`],
  interrupted: (status) => ['lost', `Interrupted: ${status.reason}`],
};

function paused(status) {
  const names = status.paused_by.map(({ by }) => (by === 'acuity-live-page' ? 'a live page' : by));
  const left = status.pause_seconds_left;
  // This page renews its own pause for as long as it is open.
  return [`Paused by ${[...new Set(names)].join(' and ')}`, left === null || steering.own ? '' : `${clock(left)} left`];
}

// ---- looking ------------------------------------------------------------------------------------

async function look() {
  let curve = null;
  do {
    curve = await session.call('vmaf.curve', { first: scores.next, status: true, times: true });
    if (curve.repredictions !== scores.repredictions) { // earlier frames have other scores now
      scores.repredictions = curve.repredictions;
      if (scores.next !== 0) {
        reset();
        curve = { ...curve, more: true };
        continue;
      }
    }
    extend(curve);
    scores.next = curve.next_first;
  } while (curve.more);
  const { status } = curve;
  over = curve.over && ENDS.includes(status.state);
  byId('login').hidden = true;
  byId('app').hidden = false;
  said = SAID[status.state](status);
  state(...said);
  if (over) say(byId('worst-title'), 'Worst frames');
  const pooled = (curve.aggregate?.parts?.at(-1) ?? curve.aggregate)?.mean;
  const mean = over ? number(pooled, 2) : `${number(pooled, 1)} so far`;
  document.title = [mean, status.distorted, 'Acuity live'].filter(Boolean).join(' · ');
  named(status);
  show(status, curve);
  events(curve.models);
  steering.update(status);
  if (!document.hidden && (over || performance.now() >= told + WORST_EACH)) {
    told = performance.now();
    if (scores.frames.length) await metrics(status);
    const places = await worst.update(over).catch((error) => {
      // Asked before the first score too: pictures are copied from then on.
      if (scores.frames.length || !(error instanceof Refusal)) throw error;
      return [];
    });
    const drawn = places.filter(({ frame }) => frame < scores.next); // others are newer than the curve
    chart?.setMarks(drawn.map(({ frame, score }) => ({ row: row(frame), label: number(score, 1) })));
  }
}

// One look at a time: two at once would both bring the same frames, and the curve would have them twice.
async function turn() {
  clearTimeout(timer);
  if (looking) { again = true; return; }
  looking = true;
  const begun = performance.now();
  let allowed = true;
  do {
    again = false;
    allowed = await looked();
  } while (again);
  looking = false;
  const took = performance.now() - begun;
  const wait = document.hidden || lost || over ? LOOK_SLOWLY : Math.max(LOOK, 4 * took);
  if (allowed && !(over && lost)) timer = setTimeout(turn, wait);
}

// Whether the server lets this page look.
async function looked() {
  try {
    await look();
    lost = false;
  } catch (error) {
    if (error instanceof Unauthorized) { ask(error.message); return false; }
    gone(error);
  }
  return true;
}

function gone(error) {
  lost = true;
  if (over) return state(said[0], `${said[1]}; the command has ended`);
  if (error instanceof Refusal) return state('lost', `The server says: ${error.message}`);
  state('lost', scores.frames.length ? 'Connection lost: the figures are as of then' : 'No connection to the measurement');
}

function ask(sentence) {
  state('lost', 'A token is needed');
  byId('login').hidden = false;
  say(byId('login-problem'), sessionStorage.length ? sentence : '');
  byId('token').focus();
}

// ---- steering -----------------------------------------------------------------------------------

let toastTimer = 0;
function tell(text, bad = false) {
  const toast = byId('toast');
  toast.hidden = false;
  toast.classList.toggle('bad', bad);
  say(toast, text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 6000);
}

async function act(text, work) {
  try {
    const found = await work();
    tell(found?.said ?? text);
  } catch (error) {
    tell(error.message, true);
  }
  turn();
}

takeToken();
const steering = new Steering(byId('steering'), session, act);
const worst = new WorstFrames(byId('worst'), session, (frame) => {
  chart?.select(row(frame));
  byId('curve').scrollIntoView({ block: 'nearest' });
});
byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(byId('token').value.trim());
  byId('token').value = '';
  turn();
});
addEventListener('hashchange', () => { takeToken(); turn(); });
addEventListener('pagehide', () => session.end());
addEventListener('pageshow', (event) => { if (event.persisted) turn(); });
document.addEventListener('visibilitychange', () => { if (!document.hidden) turn(); });
turn();
