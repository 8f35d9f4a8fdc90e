// One frame's pictures: reference and distorted with a slider between them, difference, heat map.

import { button, element, say } from './elements.js';
import { clock, count, number } from './format.js';

const MODES = [
  { name: 'slider', text: 'Slider', needs: ['reference', 'distorted'] },
  { name: 'reference', text: 'Reference', needs: ['reference'] },
  { name: 'distorted', text: 'Distorted', needs: ['distorted'] },
  { name: 'difference', text: 'Difference', needs: ['difference'] },
  { name: 'heat', text: 'Heat map', needs: ['heat'] },
];
const ZOOMS = [[null, 'Fit'], [1, '100 %'], [2, '200 %']];
const SPLIT_KEYS = { ArrowLeft: -2, ArrowDown: -2, ArrowRight: 2, ArrowUp: 2, PageDown: -20, PageUp: 20, Home: -100, End: 100 };

export class FrameViewer {
  constructor(host) {
    this.mode = 'slider';
    this.share = 50;
    this.zoom = null;
    this.boxed = true;
    this.picture = null;
    this.modes = MODES.map((mode) => button(mode.text, { onclick: () => this.setMode(mode.name) }));
    this.zooms = ZOOMS.map(([zoom, text]) => button(text, { onclick: () => this.setZoom(zoom) }));
    this.flips = button('Flip', { title: 'Change between reference and distorted (X)', onclick: () => this.flip() });
    this.box = element('input', { type: 'checkbox', checked: true, onchange: () => { this.boxed = this.box.checked; this.draw(); } });
    this.boxField = element('label', { class: 'check' }, this.box, 'region');
    this.stage = element('div', { class: 'stage', onpointerdown: (event) => this.grab(event), onpointermove: (event) => this.drag(event), onpointerup: () => { this.held = false; } });
    this.scroller = element('div', { class: 'stage-box', role: 'region', 'aria-label': 'Picture', tabindex: 0 }, this.stage);
    this.split = element('div', { class: 'split', role: 'slider', tabindex: 0, 'aria-label': 'Border between reference and distorted', 'aria-valuemin': 0, 'aria-valuemax': 100, onkeydown: (event) => this.key(event) });
    this.caption = element('figcaption', { 'aria-live': 'polite' });
    host.append(element('figure', { class: 'viewer' },
      element('div', { class: 'viewer-bar' },
        element('span', { class: 'joined', role: 'group', 'aria-label': 'What is shown' }, ...this.modes), this.flips,
        element('span', { class: 'joined', role: 'group', 'aria-label': 'Size' }, ...this.zooms), this.boxField),
      this.scroller, this.caption));
  }

  // `name` says which encode it is of, where a page has several.
  show(picture, name = '') {
    this.picture = picture;
    const can = MODES.filter((mode) => mode.needs.every((kind) => picture[kind]));
    if (!can.some((mode) => mode.name === this.mode)) this.mode = can[0]?.name ?? 'slider';
    this.modes.forEach((made, index) => { made.hidden = !can.includes(MODES[index]); });
    this.flips.hidden = !(picture.reference && picture.distorted);
    this.boxField.hidden = !picture.region;
    const said = [name, `Frame ${count(picture.frame)}`, picture.time === null ? null : clock(picture.time, 3), picture.score === null ? null : `score ${number(picture.score, 2)}`];
    say(this.caption, `${said.filter(Boolean).join(' · ')}${picture.description ? ` — ${picture.description}` : ''}`);
    this.draw();
  }

  setMode(name) { if (this.picture && MODES.find((mode) => mode.name === name).needs.every((kind) => this.picture[kind])) { this.mode = name; this.draw(); } }
  setZoom(zoom) { this.zoom = zoom; this.draw(); this.centre(); }
  nextZoom() { this.setZoom(ZOOMS[(ZOOMS.findIndex(([zoom]) => zoom === this.zoom) + 1) % ZOOMS.length][0]); }
  flip() { this.setMode(this.mode === 'reference' ? 'distorted' : 'reference'); }
  numbered(index) { if (MODES[index]) this.setMode(MODES[index].name); }

  draw() {
    const { picture, mode } = this;
    if (!picture) return;
    MODES.forEach((one, index) => this.modes[index].setAttribute('aria-pressed', one.name === mode));
    ZOOMS.forEach(([zoom], index) => this.zooms[index].setAttribute('aria-pressed', zoom === this.zoom));
    const shown = MODES.find((one) => one.name === mode).needs.filter((kind) => picture[kind]);
    const images = shown.map((kind) => {
      const image = element('img', { src: picture[kind], width: picture.width, height: picture.height, draggable: 'false', alt: `${kind === 'heat' ? 'heat map' : kind} of frame ${picture.frame}` });
      if (this.zoom) image.style.width = `${picture.width * this.zoom}px`;
      return image;
    });
    const sides = mode === 'slider' ? [element('span', { class: 'side left' }, 'reference'), element('span', { class: 'side right' }, 'distorted'), this.split]
      : [element('span', { class: 'side left' }, MODES.find((one) => one.name === mode).text.toLowerCase())];
    this.stage.toggleAttribute('data-zoom', this.zoom !== null);
    this.stage.style.width = this.zoom ? 'auto' : `min(100%, ${((74 * picture.width) / picture.height).toFixed(1)}vh)`;
    this.stage.replaceChildren(...images, ...sides, ...this.regionBox());
    this.place();
  }

  regionBox() {
    if (!this.picture.region || !this.boxed) return [];
    const made = element('div', { class: 'region' });
    ['left', 'top', 'width', 'height'].forEach((side, index) => { made.style[side] = `${this.picture.region[index] * 100}%`; });
    return [made];
  }

  // Put the border where it belongs: the reference is left of it.
  place() {
    this.split.style.left = `${this.share}%`;
    this.split.setAttribute('aria-valuenow', Math.round(this.share));
    this.split.setAttribute('aria-valuetext', `${Math.round(this.share)} % reference`);
    if (this.mode === 'slider') this.stage.querySelectorAll('img')[1].style.clipPath = `inset(0 0 0 ${this.share}%)`;
  }

  // An enlarged picture begins with the region that has the loss.
  centre() {
    const [x, y, wide, tall] = this.picture?.region ?? [0, 0, 1, 1];
    this.scroller.scrollLeft = (x + wide / 2) * this.stage.offsetWidth - this.scroller.clientWidth / 2;
    this.scroller.scrollTop = (y + tall / 2) * this.stage.offsetHeight - this.scroller.clientHeight / 2;
  }

  move(share) { this.share = Math.min(100, Math.max(0, share)); this.place(); }

  key(event) {
    if (!(event.key in SPLIT_KEYS)) return;
    event.preventDefault();
    this.move(this.share + SPLIT_KEYS[event.key] * (event.shiftKey ? 5 : 1));
  }

  grab(event) {
    if (this.mode !== 'slider' || event.button > 0) return;
    if (event.pointerType === 'touch' && event.target !== this.split) return;
    event.preventDefault();
    this.held = true;
    this.stage.setPointerCapture(event.pointerId);
    this.split.focus({ preventScroll: true });
    this.drag(event);
  }

  drag(event) {
    if (!this.held) return;
    const { left, width } = this.stage.getBoundingClientRect();
    this.move(((event.clientX - left) / width) * 100);
  }
}
