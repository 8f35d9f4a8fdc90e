// The view of a comparison: the ranking of the answer, then curves and tables, which its report's page has packed.

import { Curves } from './curves.js';
import { PageSeries } from './data.js';
import { element, panel } from './elements.js';
import { figure } from './format.js';
import { rateChart } from './rates.js';
import { table } from './tables.js';
import { answerReport, isObject, listOf } from './answer.js';

const COMPARISON = 'acuity.compare/1';
const PACKED_BEGIN = 'id="page-data">';
const PACKED_END = '</' + 'script>'; // the data itself has no '<'
const RANKING = [
  ['place', (pair) => pair.place ?? '', true],
  ['encode', (pair) => pair.name, false],
  ['encoder', (pair) => pair.encoder ?? '', false],
  ['score', (pair) => (pair.error ? 'failed' : rankedFigure(pair.score)), true],
  ['5th percentile', (pair) => rankedFigure(pair.p5), true],
  ['lowest', (pair) => rankedFigure(pair.min), true],
  ['kbit/s', (pair) => (typeof pair.kbps === 'number' ? figure(pair.kbps, 0, 6) : ''), true],
];

const rankedFigure = (value) => (typeof value === 'number' ? figure(value, 2, 6) : '');

export const isComparison = (document) => document?.schema === COMPARISON && Array.isArray(document.pairs) && Array.isArray(document.ranking);

export function comparisonTitle(document) {
  const of = String(document.reference ?? '').split(/[\\/]/).at(-1);
  const many = document.pairs.length;
  const name = `${many} ${many === 1 ? 'encode' : 'encodes'}${of ? ` of ${of}` : ''}`;
  return { name, against: typeof document.model === 'string' ? `scored with ${document.model}` : '' };
}

// The notes of the answer, and why encodes failed.
export function comparisonNotes(document) {
  const failed = listOf(document.pairs).filter((pair) => typeof pair?.error === 'string')
    .map((pair) => ({ level: 'warning', text: `${pair.name} failed: ${pair.error}` }));
  const notes = listOf(document.notes).filter((note) => typeof note?.text === 'string').map((note) => {
    const about = listOf(note.encodes).filter((name) => typeof name === 'string');
    return { ...note, text: about.length && about.length < document.pairs.length ? `${about.join(', ')}: ${note.text}` : note.text };
  });
  return [...failed, ...notes];
}

// The ranking as the answer alone says it.
export function showRanking(host, document) {
  const { section } = panel('Ranking');
  const rows = document.pairs.filter(isObject).map((pair) => RANKING.map(([, cell]) => cell(pair)));
  table(section, { title: 'Ranking', titles: RANKING.map(([title]) => title), rows, numeric: RANKING.map(([, , numeric]) => numeric) });
  host.replaceChildren(section);
}

// What the page of the report has, read through the host; null if the answer names no report.
export async function readComparison(host, document) {
  const uri = answerReport(document);
  if (uri === null) return null;
  const text = await host.read(`${uri}/report.html`);
  const begin = text.indexOf(PACKED_BEGIN);
  const end = text.indexOf(PACKED_END, begin);
  if (begin < 0 || end < 0) throw new Error('the page of the report has no figures');
  return JSON.parse(text.slice(begin + PACKED_BEGIN.length, end));
}

// Draws curves, rates and tables into the parts; gives the curves, or null where no encode has any.
export async function showComparison(page, { curve, rates, tables }) {
  const places = listOf(page.tables).map((one) => {
    const { section } = panel(one.title);
    table(section, one);
    return section;
  });
  tables.replaceChildren(...places);
  rates.replaceChildren();
  if (listOf(page.rates).length) {
    const { section } = panel(`${page.rate_score ?? 'Score'} over bitrate`);
    rateChart(section, page.rates, { scoreName: page.rate_score ?? 'score', targets: [] });
    rates.append(section);
  }
  const series = listOf(page.series).filter((one) => one.columns.length && one.frames.count);
  const place = element('div');
  curve.replaceChildren(place);
  if (!series.length) return null;
  const curves = new Curves(place, await PageSeries.of(series), { onPick: () => {} });
  await curves.ready;
  return curves;
}
