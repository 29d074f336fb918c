/** Colours for terminals only; respects NO_COLOR and FORCE_COLOR. */
import pc from 'picocolors';

export type Colors = Pick<ReturnType<typeof pc.createColors>, 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'>;

export const plainColors: Colors = pc.createColors(false);

export function isColored(stream: { isTTY?: boolean }): boolean {
  if (process.env.NO_COLOR) return false;
  const forced = process.env.FORCE_COLOR !== undefined && process.env.FORCE_COLOR !== '0';
  return forced || (stream.isTTY === true && process.env.TERM !== 'dumb');
}

export const colorsFor = (stream: { isTTY?: boolean }): Colors => pc.createColors(isColored(stream));
