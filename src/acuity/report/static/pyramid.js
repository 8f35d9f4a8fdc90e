// Lowest, highest and mean of any stretch of a curve, without looking at every value of it.

const FAN = 8; // values of one level that make one of the next

class Growing {
  constructor() { this.data = new Float64Array(64); this.length = 0; }

  push(value) {
    if (this.length === this.data.length) this.room(this.length + 1);
    this.data[this.length] = value;
    this.length += 1;
  }

  room(wanted) {
    if (wanted <= this.data.length) return;
    const larger = new Float64Array(Math.max(wanted, this.data.length * 2));
    larger.set(this.data.subarray(0, this.length));
    this.data = larger;
  }

  extend(values) {
    this.room(this.length + values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }
}

// NaN is a value that isn't there. A curve that is known as ranges only has its lower and its upper ends.
export class Pyramid {
  constructor(values, upper = null) {
    this.ranges = upper !== null;
    this.base = new Growing();
    this.upper = this.ranges ? new Growing() : this.base;
    this.levels = [];
    this.append(values, upper);
  }

  get length() { return this.base.length; }
  get values() { return this.base.data.subarray(0, this.base.length); }

  append(values, upper = null) {
    this.base.extend(values);
    if (this.ranges) this.upper.extend(upper);
    this.grow();
  }

  // Make the blocks that are complete now; incomplete ones are never asked for.
  grow() {
    for (let level = 0; ; level += 1) {
      const below = level ? this.levels[level - 1].low.length : this.base.length;
      if (below < FAN) return;
      this.levels[level] ??= { low: new Growing(), high: new Growing(), sum: new Growing(), known: new Growing() };
      const made = this.levels[level];
      for (let block = made.low.length; (block + 1) * FAN <= below; block += 1) {
        const found = { low: Infinity, high: -Infinity, sum: 0, known: 0 };
        for (let index = block * FAN; index < (block + 1) * FAN; index += 1) this.take(found, level - 1, index);
        made.low.push(found.low);
        made.high.push(found.high);
        made.sum.push(found.sum);
        made.known.push(found.known);
      }
    }
  }

  take(found, level, index) {
    if (level < 0) {
      const low = this.base.data[index];
      const high = this.upper.data[index];
      if (low < found.low) found.low = low;
      if (high > found.high) found.high = high;
      if (low === low) { found.sum += low; found.known += 1; }
      return;
    }
    const from = this.levels[level];
    if (from.low.data[index] < found.low) found.low = from.low.data[index];
    if (from.high.data[index] > found.high) found.high = from.high.data[index];
    found.sum += from.sum.data[index];
    found.known += from.known.data[index];
  }

  // What the values from `from` to before `to` are: {low, high, sum, known}.
  over(from, to) {
    const found = { low: Infinity, high: -Infinity, sum: 0, known: 0 };
    let begin = Math.max(0, from);
    let end = Math.min(this.length, to);
    for (let level = -1; begin < end; level += 1) {
      const last = level + 1 >= this.levels.length;
      while (begin < end && (last || begin % FAN)) { this.take(found, level, begin); begin += 1; }
      while (begin < end && end % FAN) { end -= 1; this.take(found, level, end); }
      begin /= FAN;
      end /= FAN;
    }
    return found;
  }

  // Lowest, highest and mean of each of so many equal columns; NaN where a column has no value.
  // Each column reaches to the first value of the next, so that what is drawn hangs together.
  range(from, to, columns) {
    const low = new Float64Array(columns).fill(NaN);
    const high = new Float64Array(columns).fill(NaN);
    const mean = new Float64Array(columns).fill(NaN);
    const step = (to - from) / columns;
    for (let column = 0; column < columns; column += 1) {
      const begin = Math.floor(from + column * step);
      const end = Math.floor(from + (column + 1) * step);
      const own = this.over(begin, Math.max(end, begin + 1));
      if (own.known) {
        mean[column] = this.ranges ? NaN : own.sum / own.known;
        this.take(own, -1, Math.max(end, begin + 1) < this.length ? Math.max(end, begin + 1) : this.length - 1);
        low[column] = own.low;
        high[column] = own.high;
      }
    }
    return { low, high, mean };
  }
}
