// Numbers, counts and times as text, and the places where an axis is labelled.

const WHOLE = new Intl.NumberFormat('en');
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];

export const count = (n) => WHOLE.format(n);

// A number with so many decimals; what isn't there is a dash.
export function number(value, decimals = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? (0).toFixed(decimals) : text;
}

// A stored figure with fewer decimals than are stored. A figure that was rounded to an exact half when it was
// stored may have been above or below it, so it is shown with all of its decimals rather than rounded twice.
export function figure(value, shown, stored) {
  if (!Number.isFinite(value) || stored <= shown) return number(value, Math.min(shown, stored));
  const half = 10 ** (stored - shown);
  const rest = Math.abs(Math.round(value * 10 ** stored)) % half;
  return number(value, rest * 2 === half ? stored : shown);
}

// As many decimals as tell the values of a range apart, from two on.
export function decimalsOf(low, high, stored = 6) {
  const spread = high - low;
  const wanted = spread > 0 ? 2 - Math.floor(Math.log10(spread)) : 2;
  return Math.min(stored, Math.max(2, Math.min(wanted, 6)));
}

// Seconds as 0:07.50 or 1:02:03.
export function clock(seconds, decimals = 0) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  const scale = 10 ** decimals;
  const units = Math.round(Math.abs(seconds) * scale);
  const whole = Math.floor(units / scale);
  const two = (part) => String(part).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  const head = hours ? `${hours}:${two(minutes % 60)}` : `${minutes}`;
  const tail = decimals ? `.${String(units % scale).padStart(decimals, '0')}` : '';
  return `${seconds < 0 && units ? '−' : ''}${head}:${two(whole % 60)}${tail}`;
}

// A step of 1, 2 or 5 times a power of ten that gives at most so many labels.
export function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
}

// The same for times, where a minute has sixty seconds.
export function clockStep(span, most) {
  const rough = span / Math.max(1, most);
  if (rough <= 0.5) return niceStep(span, most);
  return CLOCK_STEPS.find((step) => step >= rough) ?? Math.ceil(rough / 3600) * 3600;
}

export const stepDecimals = (step) => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));

// The multiples of a step within a range; none if it is too small beside them to be counted.
export function multiples(low, high, step) {
  const found = [];
  if (!(step > Math.max(Math.abs(low), Math.abs(high)) * 1e-15)) return found;
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) found.push(index * step || 0);
  return found;
}
