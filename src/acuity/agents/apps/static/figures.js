// The figures of every frame: from a report's own rows, or from its table, which is read in parts.

const PART_BYTES = 500_000; // of a part: hosts and servers refuse messages of a megabyte
const FIGURE_BYTES = 12; // of a figure in the table, about
const MOST_ROWS = 5000; // of a part: servers inside a measurement give no more

export class Figures {
  constructor() {
    this.frames = []; // their numbers
    this.columns = new Map(); // name → figures in the order of the frames; NaN: none
  }

  get count() {
    return this.frames.length;
  }

  values(name) {
    return Float64Array.from(this.columns.get(name) ?? []);
  }

  // Takes the rows of a report: {frameNum, metrics}.
  addRows(rows) {
    for (const row of rows) {
      if (!Number.isSafeInteger(row?.frameNum)) continue;
      for (const [name, figure] of Object.entries(row.metrics ?? {})) this.column(name).push(asFigure(figure));
      this.frames.push(row.frameNum);
      this.fill();
    }
  }

  // Takes a table with a line of names; frames that are known already are left out.
  addTable(text) {
    const [first, ...lines] = text.split("\n");
    const names = first.split(",").slice(1).filter(Boolean);
    const known = this.frames.at(-1) ?? -1;
    let taken = 0;
    for (const line of lines) {
      const cells = line.split(",");
      const frame = cells[0] === "" ? NaN : Number(cells[0]);
      if (!Number.isSafeInteger(frame) || frame <= known) continue;
      names.forEach((name, at) => this.column(name).push(cells[at + 1] === "" ? NaN : asFigure(cells[at + 1])));
      this.frames.push(frame);
      this.fill();
      taken += 1;
    }
    return taken;
  }

  column(name) {
    let found = this.columns.get(name);
    if (found === undefined) {
      found = new Array(this.count).fill(NaN);
      this.columns.set(name, found);
    }
    return found;
  }

  // Gives columns without a figure for the newest frame a gap.
  fill() {
    for (const column of this.columns.values()) if (column.length < this.count) column.push(NaN);
  }
}

function asFigure(value) {
  if (typeof value !== "number" && typeof value !== "string") return NaN;
  const figure = Number(value);
  return Number.isFinite(figure) ? figure : NaN;
}

// Reads the table of a report through the host, from the first unknown frame on, until it has `count` rows or
// frame `last`; `step` is the distance of two scored frames. `more` is told of each part, and false ends it.
export async function readTable(host, report, figures, { count, last, step, columns }, more) {
  const rows = Math.min(MOST_ROWS, Math.max(100, Math.floor(PART_BYTES / ((columns + 1) * FIGURE_BYTES))));
  let first = (figures.frames.at(-1) ?? -1) + 1;
  while (figures.count < count && first <= last) {
    const end = first + rows * step - 1;
    const taken = figures.addTable(await host.read(`${report}.csv?frames=${first}-${end}`));
    first = end + 1;
    if (taken && more() === false) return;
  }
}
