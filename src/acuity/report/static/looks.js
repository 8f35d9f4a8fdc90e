// How curves are told apart: by colour and by dashes, in 32 combinations.

import { shape } from './elements.js';

const COLOUR_COUNT = 8; // of page.css
const LINES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

// The number of a curve's dashes or marks, of four: the ninth curve has the first one's colour, but other dashes.
export const patternOf = (index) => (index + Math.floor(index / COLOUR_COUNT)) % LINES.length;

export const lookOf = (index) => ({ colour: `--curve-${(index % COLOUR_COUNT) + 1}`, dash: LINES[patternOf(index)] });

// A piece of the line, for names and values.
export function lineSample({ colour, dash }, ...marks) {
  const line = shape('path', { class: 'line', d: 'M0 7H28', 'stroke-dasharray': dash.join(' ') || null });
  line.style.stroke = colour.startsWith('--') ? `var(${colour})` : colour;
  for (const mark of marks) mark.style.fill = line.style.stroke;
  return shape('svg', { class: 'line-sample', width: 28, height: 14, 'aria-hidden': 'true' }, line, ...marks);
}
