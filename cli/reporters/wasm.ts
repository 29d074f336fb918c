/** What `run --wasm` found, as text and in the JSON report. */

import type { WasmReport } from '../analysis/wasm-report';
import type { Colors } from '../terminal/colors';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount, formatDuration } from '../terminal/units';
import { position } from '../wording/position';
import { confidenceText } from '../wording/sentence';

const MAX_SITES = 20;

const memories = (n: number) => `${formatCount(n)} ${n === 1 ? 'memory' : 'memories'}`;

/** Names must be escaped already. */
export function renderWasm(wasm: WasmReport, colors: Colors, folder: string): string {
  const lines = ['', sentence(wasm, colors, folder)];
  if (wasm.sites.length > 0) {
    const right = (title: string) => ({ title, align: 'right' as const });
    const rows = wasm.sites
      .slice(0, MAX_SITES)
      .map((site) => [
        site.kind.replaceAll('-', ' '),
        formatCount(site.liveMemories),
        formatBytes(site.liveBytes),
        formatCount(site.madeMemories),
        site.verdict === 'leak' ? formatBytes(site.growthBytesPerMinute) : '-',
        position(site, folder) + (site.function === '' ? '' : colors.dim(` ${site.function}`)),
      ]);
    const titles = [right('live'), right('bytes'), right('made'), right('growth/min')];
    const columns = [
      { title: 'verdict', align: 'left' as const },
      ...titles,
      { title: 'site', align: 'left' as const },
    ];
    lines.push('', ...renderTable(columns, rows, colors.dim));
    if (wasm.sites.length > MAX_SITES) lines.push(`and ${counted(wasm.sites.length - MAX_SITES, 'more site')}`);
  }
  return `${lines.join('\n')}\n`;
}

function sentence(
  { verdict, sites, durationMs, rounds, sufficientMs }: WasmReport,
  colors: Colors,
  folder: string,
): string {
  const [worst] = sites;
  const head = 'WebAssembly: ';
  if (verdict === 'leak' && worst !== undefined) {
    const where = colors.bold(position(worst, folder)) + (worst.function === '' ? '' : ` (${worst.function})`);
    const rate = worst.growthBytesPerMinute > 0 ? `${formatBytes(worst.growthBytesPerMinute)} per minute` : 'steadily';
    const sure = worst.confidence === null ? '' : `, with ${confidenceText(worst.confidence)} confidence`;
    return `${colors.red(colors.bold('LEAK'))}  ${head}${memories(worst.liveMemories)} made at ${where} ${worst.liveMemories === 1 ? 'grows' : 'grow'} by ${rate}${sure}.`;
  }
  const grown = sites.find(({ kind }) => kind === 'grew-to-the-end');
  if (verdict === 'insufficient' && grown !== undefined)
    return `${colors.yellow(colors.bold('INSUFFICIENT'))}  ${head}memory made at ${position(grown, folder)} grew until it was freed at the end: a leak, or a job that has ended. Run it longer.`;
  const enough =
    sufficientMs === null ? '' : ` ${formatDuration(1000 * Math.ceil(sufficientMs / 1000))} would suffice.`;
  const late = sites.find(({ grewLate }) => grewLate);
  if (verdict === 'insufficient' && late !== undefined)
    return `${colors.yellow(colors.bold('INSUFFICIENT'))}  ${head}memory made at ${position(late, folder)} grew late in a run of ${formatDuration(durationMs)}, and may go on growing.${enough}`;
  if (verdict === 'insufficient')
    return `${colors.yellow(colors.bold('INSUFFICIENT'))}  ${head}${formatDuration(durationMs)} (${counted(rounds, 'round')}) are too short to distinguish a leak from warm-up.${enough}`;
  const clean = `${colors.green(colors.bold('CLEAN'))}  ${head}`;
  if (worst === undefined) return `${clean}The program made no WebAssembly.Memory.`;
  const live = sites.reduce((sum, site) => sum + site.liveMemories, 0);
  const bytes = sites.reduce((sum, site) => sum + site.liveBytes, 0);
  return `${clean}no memory kept growing in ${formatDuration(durationMs)}; ${memories(live)} (${formatBytes(bytes)}) at the end.`;
}
