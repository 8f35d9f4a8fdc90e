// The buttons: pause and resume, sampling, the model, and the end, which asks first.

import { element, say } from './elements.js';

export const ENDS = ['over', 'failed', 'interrupted']; // the states after which no frame comes
const RENEW = 100_000; // milliseconds: a pause has a lease of five minutes, and lasts as long as this page
const STEPS = [1, 2, 3, 5, 10, 25];

export class Steering {
  // `act(text, work)` does something and tells how it went.
  constructor(host, session, act) {
    this.host = host;
    this.session = session;
    this.act = act;
    this.own = false; // whether this page has paused
    this.chosen = false; // whether the model's list is there
    this.wanted = null; // the model that this page asked for, until the next status
    this.swapping = false;
    this.narrowed = false; // whether the tools that there are were looked at
    this.pause = element('button', { type: 'button', id: 'pause', onclick: () => this.toggle() }, 'Pause');
    this.step = element('select', { id: 'subsample', onchange: () => this.sample() },
      ...STEPS.map((n) => element('option', { value: String(n) }, n === 1 ? 'every frame' : `one in ${n}`)));
    this.model = element('select', { id: 'model', disabled: true }, element('option', { value: '' }, '…'));
    this.before = element('input', { type: 'checkbox', id: 'repredict' });
    this.swap = element('button', { type: 'button', id: 'swap', disabled: true, onclick: () => this.change() }, 'Use this model');
    this.stop = element('button', { type: 'button', id: 'stop', class: 'danger', onclick: () => this.end() }, 'Stop…');
    host.append(
      this.heading = element('h2', { id: 'steering-title', tabindex: '-1' }, 'Steer'),
      element('div', { class: 'steer' },
        element('div', { class: 'steer-group' }, this.pause, this.stop),
        element('div', { class: 'steer-group' }, element('label', { for: 'subsample' }, 'Measure'), this.step),
        element('div', { class: 'steer-group steer-model' }, element('label', { for: 'model' }, 'Model'), this.model,
          element('label', { class: 'check', for: 'repredict' }, this.before, 'earlier frames too'), this.swap)),
      this.remark = element('p', { class: 'soft', id: 'steering-remark' },
        'Steering changes no figure: each frame has the score of its model.'),
    );
    this.timer = setInterval(() => this.renew(), RENEW);
  }

  // Show what a status says.
  update(status) {
    const focused = document.activeElement;
    const over = ENDS.includes(status.state) || status.state === 'finishing';
    this.paused = status.paused;
    if (!this.swapping) this.wanted = null;
    if (!status.paused) this.own = false;
    for (const control of [this.pause, this.stop, this.step]) control.disabled = over;
    say(this.pause, status.paused ? 'Resume' : 'Pause');
    if (document.activeElement !== this.step) this.show(status.subsample);
    if (status.model !== null && status.model !== this.holds) {
      this.holds = status.model;
      this.list();
    }
    this.swap.disabled = over || !this.chosen || this.model.value === '' || this.model.value === this.holds;
    this.model.disabled = over || !this.chosen;
    this.before.disabled = over;
    if (focused?.disabled) this.keepFocus();
    if (over) clearInterval(this.timer);
  }

  // A control that can't be used any more gives up the focus.
  keepFocus() {
    (this.model.disabled ? this.heading : this.model).focus();
  }

  show(step) {
    const value = String(step);
    if (![...this.step.options].some((option) => option.value === value)) {
      this.step.append(element('option', { value }, `one in ${step}`));
    }
    this.step.value = value;
  }

  // Hide what the server doesn't offer.
  async narrow() {
    const { tools } = await this.session.request('tools/list', {});
    const names = new Set(tools.map((tool) => tool.name));
    const groups = [[this.pause, 'vmaf.pause', 'vmaf.resume'], [this.stop, 'vmaf.stop'],
      [this.step.parentElement, 'vmaf.set_subsample'],
      [this.model.parentElement, 'vmaf.request_model_swap', 'list_models']];
    for (const [part, ...needed] of groups) part.hidden = !needed.every((name) => names.has(name));
    this.host.hidden = groups.every(([part]) => part.hidden);
    this.narrowed = true;
  }

  async list() {
    try {
      if (!this.narrowed) await this.narrow();
      if (this.model.parentElement.hidden) return;
      const { models } = await this.session.call('list_models');
      const names = models.filter((model) => model.usable).map((model) => model.name);
      if (!names.includes(this.holds)) names.unshift(this.holds);
      this.model.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
      this.model.value = this.holds;
      this.model.onchange = () => { this.swap.disabled = this.model.value === this.holds; };
      this.chosen = true;
    } catch { this.holds = null; /* asked again with the next status */ }
  }

  toggle() {
    if (this.paused) return this.act('Resumed', () => this.session.call('vmaf.resume'));
    return this.act('Paused', async () => {
      const found = await this.session.call('vmaf.pause');
      this.own = true;
      return found;
    });
  }

  renew() {
    if (this.own && this.paused) this.session.call('vmaf.pause').catch(() => {});
  }

  sample() {
    const n = Number(this.step.value);
    return this.act(n === 1 ? 'Every frame is measured' : `One frame in ${n} is measured`, () => this.session.call('vmaf.set_subsample', { n }));
  }

  change() {
    const name = this.model.value;
    const repredict = this.before.checked;
    if (name === this.wanted) return undefined; // pressed twice
    this.wanted = name;
    this.swapping = true;
    return this.act(`${name} holds`, async () => {
      try {
        const found = await this.session.call('vmaf.request_model_swap', { name, repredict });
        return { ...found, said: `${found.model} holds from frame ${found.first} on${earlier(found.repredicted)}` };
      } finally {
        this.swapping = false;
      }
    });
  }

  async end() {
    const agreed = await confirmed('Stop the measurement?', [
      'It ends as if the videos ended here: the frames so far are the result, and the report is written.',
      "This can't be taken back.",
    ], 'Stop');
    if (agreed) await this.act('Stopped', () => this.session.call('vmaf.stop'));
    // The measurement was over before the answer: Stop can't have the focus again.
    if (this.stop.disabled && !this.host.contains(document.activeElement)) this.keepFocus();
  }
}

// Which frames before a swap have the new model too.
function earlier(repredicted) {
  const ranges = repredicted.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
  return ranges.length ? `, and for frames ${ranges.join(', ')}` : '';
}

let refuse = () => {};  // the question before

// Resolves to whether the question was agreed to.
function confirmed(title, sentences, agree) {
  const dialog = document.getElementById('dialog');
  return new Promise((resolve) => {
    const done = (answer) => { resolve(answer); dialog.close(); };
    const cancel = element('button', { type: 'button', onclick: () => done(false) }, 'Cancel');
    dialog.replaceChildren(
      element('h2', { id: 'dialog-title' }, title),
      ...sentences.map((sentence) => element('p', {}, sentence)),
      element('div', { class: 'dialog-buttons' }, cancel,
        element('button', { type: 'button', class: 'danger', id: 'dialog-agree', onclick: () => done(true) }, agree)),
    );
    refuse();
    refuse = () => resolve(false);
    // The browser tells of a closing later: it may be that of the question before.
    dialog.onclose = () => { if (!dialog.open) refuse(); };
    dialog.showModal();
    cancel.focus();
  });
}
