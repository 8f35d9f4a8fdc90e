// The worst places so far, with small pictures of reference and distorted.

import { element } from './elements.js';
import { count, number } from './format.js';

const SHOWN = 4; // places
const APART = 12; // frames between them
const PAIRS = 1; // whose pictures are loaded in one turn while frames are measured: to pack them costs time
const KEPT = 40; // pictures

export class WorstFrames {
  constructor(host, session, onPick) {
    this.host = host;
    this.session = session;
    this.onPick = onPick;
    this.pictures = new Map(); // data URLs by URI
    this.drawn = '';
  }

  // Ask for the worst, and show them; resolves to the frames shown. Pictures come a pair at a time, the worst
  // first; all that are missing where nothing is measured any more.
  async update(over) {
    const { frames: places } = await this.session.call('vmaf.worst_frames', { n: SHOWN, apart: APART, pictures: true });
    const pairs = places.flatMap(({ picture }) => (picture ? [[picture.reference, picture.distorted]] : []));
    const wanted = pairs.flat();
    const missing = pairs.filter((pair) => !pair.every((uri) => this.pictures.has(uri)));
    for (const uri of missing.slice(0, over ? SHOWN : PAIRS).flat()) await this.load(uri);
    for (const uri of this.pictures.keys()) {
      if (this.pictures.size <= KEPT) break;
      if (!wanted.includes(uri)) this.pictures.delete(uri);
    }
    this.draw(places);
    return places;
  }

  async load(uri) {
    try {
      const { blob, mimeType } = await this.session.read(uri);
      this.pictures.set(uri, `data:${mimeType};base64,${blob}`);
    } catch { /* better ones took its place meanwhile */ }
  }

  draw(places) {
    const drawn = JSON.stringify(places.map(({ frame, score, picture }) => [frame, score, picture, this.pictures.has(picture?.distorted)]));
    if (drawn === this.drawn) return; // what has the focus keeps it
    this.drawn = drawn;
    const focused = document.activeElement?.dataset?.frame;
    this.host.replaceChildren(...places.map((place) => this.item(place)));
    if (focused !== undefined) this.host.querySelector(`[data-frame="${focused}"]`)?.focus();
  }

  item({ frame, score, model, picture }) {
    const shown = ['reference', 'distorted'].map((kind) => {
      const source = this.pictures.get(picture?.[kind]);
      return source && element('figure', {},
        element('img', { src: source, alt: `Frame ${picture.frame}, ${kind}` }),
        element('figcaption', {}, kind));
    }).filter(Boolean);
    const another = picture && picture.frame !== frame ? `the pictures are of frame ${count(picture.frame)}` : '';
    return element('li', {},
      element('button', { type: 'button', class: 'place', 'data-frame': String(frame), onclick: () => this.onPick(frame) },
        element('span', {}, model ? `frame ${count(frame)}, ${model}` : `frame ${count(frame)}`), element('b', {}, number(score, 2))),
      shown.length ? element('div', { class: 'couple' }, ...shown) : element('p', { class: 'soft none' }, picture ? 'The pictures come in a moment.' : 'No picture: while this page is open, as many frames are copied as time allows, and none near this one was.'),
      another && shown.length ? element('p', { class: 'soft' }, another) : null);
  }
}
