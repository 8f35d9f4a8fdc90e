// The series of a page on one common row of frames.

import { unpack } from './packed.js';

// The same frames, or the first of them.
function begins(whole, part) {
  return part.length <= whole.length && part.every((frame, row) => frame === whole[row]);
}

function union(lists) {
  const all = Float64Array.from(lists.flatMap((list) => [...list])).sort();
  return all.filter((frame, index) => index === 0 || frame !== all[index - 1]);
}

export class PageSeries {
  static async of(list) {
    const frames = await Promise.all(list.map((one) => unpack(one.frames)));
    const times = await Promise.all(list.map((one) => (one.times ? unpack(one.times) : null)));
    return new PageSeries(list, frames.map((one) => one.values), times.map((one) => one?.values ?? null));
  }

  constructor(list, frames, times) {
    this.list = list;
    this.kept = new Map();
    const longest = frames.reduce((most, one) => (one.length > most.length ? one : most), new Float64Array(0));
    const even = frames.every((one) => begins(longest, one));
    this.frames = even ? longest : union(frames);
    this.rowOf = new Map();
    if (!even) this.frames.forEach((frame, row) => this.rowOf.set(frame, row));
    // Where each series has its rows; null: at the same places.
    this.places = frames.map((one) => (even ? null : Float64Array.from(one, (frame) => this.rowOf.get(frame))));
    this.times = times.some(Boolean) && times.every((one, index) => one || !frames[index].length) ? this.timed(times) : null;
  }

  timed(times) {
    const found = new Float64Array(this.frames.length).fill(NaN);
    times.forEach((one, index) => one?.forEach((time, row) => {
      const at = this.places[index]?.[row] ?? row;
      if (found[at] !== found[at]) found[at] = time;
    }));
    return found.some((time) => time !== time) ? null : found;
  }

  // The columns of all series by name, in their order.
  columns() {
    const found = new Map();
    for (const one of this.list) for (const column of one.columns) if (!found.has(column.name)) found.set(column.name, column);
    return [...found.values()];
  }

  column(index, name) { return this.list[index].columns.find((one) => one.name === name) ?? null; }

  // The unpacked values of a column, on the common rows; null where a series doesn't have it.
  values(index, name) {
    const key = `${index} ${name}`;
    const column = this.column(index, name);
    if (column && !this.kept.has(key)) this.kept.set(key, unpack(column.values).then((found) => this.spread(index, found)));
    return this.kept.get(key) ?? Promise.resolve(null);
  }

  spread(index, found) {
    const places = this.places[index];
    if (!places) return found;
    const onto = (source) => {
      const made = new Float64Array(this.frames.length).fill(NaN);
      places.forEach((at, row) => { made[at] = source[Math.floor(row / found.bucket)]; });
      return made;
    };
    const values = onto(found.values);
    return found.high ? { ...found, bucket: 1, low: values, values, high: onto(found.high), rows: this.frames.length } : { ...found, values };
  }

  rowOfFrame(frame) {
    let low = 0;
    let high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle] < frame) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
