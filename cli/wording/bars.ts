/** Values as bars of text. */
const BARS = '▁▂▃▄▅▆▇█';

/** From zero to the highest value, so that noise does not look like growth. */
export function barsFromZero(values: readonly number[]): string {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  return values.map((v) => BARS[most <= 0 ? 0 : Math.round((Math.max(0, v) / most) * (BARS.length - 1))]).join('');
}
