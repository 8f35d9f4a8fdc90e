// Histograms of latencies: how many observations lie between the bounds.

export const difference = (counts, before) => counts.map((number, index) => number - (before?.[index] ?? 0));

export const total = (many) => many.reduce(
  (sum, counts) => (sum.length ? sum.map((number, index) => number + counts[index]) : [...counts]), []);

// The milliseconds that this share of the observations didn't exceed, as far as the bounds tell.
export function quantile(bounds, counts, share) {
  const rank = share * counts.reduce((sum, number) => sum + number, 0);
  let before = 0;
  let lower = 0;
  for (let index = 0; index < bounds.length; index += 1) {
    const number = counts[index];
    if (number && before + number >= rank) return lower + ((bounds[index] - lower) * (rank - before)) / number;
    before += number;
    lower = bounds[index];
  }
  return lower;
}
