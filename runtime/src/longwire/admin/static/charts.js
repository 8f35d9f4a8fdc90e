// Small line charts of the last hour, drawn as SVG.

import { draw, make, say } from "./elements.js";

const FEWEST = 30; // a young chart is as wide as this many points
const WIDTH = 240;

export class Series {
  constructor(values = []) { this.values = values; }

  // Null where there is no value.
  get last() { return this.values.at(-1) ?? null; }
  get most() { return this.values.reduce((most, value) => (value === null ? most : Math.max(most ?? value, value)), null); }
}

// Lines over one another; the first is filled.
export class Chart {
  constructor(names, { height = 44, label, format = String, rules = [] } = {}) {
    this.names = names;
    this.height = height;
    this.label = label;
    this.format = format;
    this.area = draw("path", { class: "area" });
    this.lines = names.map((_, index) => draw("path", { class: `line line-${index + 1}` }));
    this.element = draw(
      "svg",
      { class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", role: "img" },
      ...rules.map((share) => {
        const y = share * (height - 1) + 0.5;
        return draw("line", { class: "ground", x1: 0, x2: WIDTH, y1: y, y2: y });
      }),
      this.area,
      ...this.lines,
    );
  }

  show(series) {
    const most = Math.max(...series.map((one) => one.most), 1e-9) * 1.1;
    series.forEach((one, index) => {
      const points = this.points(one.values, most);
      this.lines[index].setAttribute("d", path(points));
      if (index === 0) this.area.setAttribute("d", closed(points, this.height));
    });
    const told = series.map((one, index) => `${this.names[index]} ${one.most === null ? "none" : this.course(one)}`);
    this.element.setAttribute("aria-label", `${this.label}, last hour: ${told.join("; ")}`);
  }

  course({ last, most }) {
    return `${last === null ? "none now" : this.format(last)}, highest ${this.format(most)}`;
  }

  points(values, most) {
    const shown = Math.max(values.length, FEWEST);
    const step = WIDTH / (shown - 1);
    const first = shown - values.length;
    return values
      .map((value, index) => (value === null ? null : [
        (first + index) * step,
        this.height - 1.5 - (value / most) * (this.height - 4),
      ]));
  }
}

function path(points) {
  let text = "";
  points.forEach((point, index) => {
    if (point === null) return;
    const begins = (points[index - 1] ?? null) === null;
    text += `${begins ? "M" : "L"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    if (begins && (points[index + 1] ?? null) === null) text += "h0.1"; // alone: a dot
  });
  return text;
}

function closed(points, height) {
  const known = points.filter((point) => point !== null);
  if (known.length < 2) return "";
  return `${path(known)}L${known.at(-1)[0].toFixed(1)} ${height}L${known[0][0].toFixed(1)} ${height}Z`;
}

// A figure with its name, a remark and its course.
export class Tile {
  constructor(name, { format = String, href } = {}) {
    this.format = format;
    this.chart = new Chart([name], { label: name, format });
    this.value = make("span", { class: "tile-value" }, "–");
    this.remark = make("span", { class: "tile-remark" });
    this.element = make(
      href ? "a" : "div",
      { class: "tile", href },
      make("span", { class: "tile-name" }, name),
      make("span", { class: "tile-figures" }, this.value, this.remark),
      this.chart.element,
    );
  }

  say(value, remark = "") {
    say(this.value, value === null ? "–" : this.format(value));
    say(this.remark, remark);
  }

  draw(values) { this.chart.show([new Series(values)]); }
}

// The bars of a histogram, as high as their share.
export function bars(counts) {
  const most = Math.max(...counts, 1);
  const height = 20;
  return draw(
    "svg",
    { class: "bars", viewBox: `0 0 ${counts.length * 6} ${height}`, "aria-hidden": "true" },
    ...counts.map((number, index) => {
      const tall = number === 0 ? 1 : Math.max(2, (number / most) * height);
      return draw("rect", {
        x: index * 6, y: height - tall, width: 4.5, height: tall, rx: 1, class: number ? "bin" : "bin none",
      });
    }),
  );
}
