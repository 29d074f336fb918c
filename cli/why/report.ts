/** What holds the tensors of a process, from the answers of its threads, and of its child processes: the public JSON. */
import type { Answer, Holder } from './holder';
import type { SiteShare } from './sites';

export interface WhyReport {
  version: 1;
  /** Of the first process; threads and holders of other processes have their own. */
  pid: number;
  /** The age of the recording when `run --why` took the snapshots; undefined: at the end of the program, or no recording. */
  afterMs?: number;
  tensors: number;
  bytes: number;
  threads: { pid?: number; thread: number; pausedMs: number }[];
  /** Most bytes first. */
  heldBy: (Holder & { pid?: number; thread: number })[];
  /** The same by the line that created the tensors, if known. */
  sites: (SiteShare & { heldBy: { path: string[]; tensors: number; bytes: number; openedAt?: string }[] })[];
}

export function whyReport(answers: readonly Answer[]): WhyReport {
  const first = answers[0]?.pid ?? 0;
  const placeOf = ({ pid, thread }: Answer) => (pid === first ? { thread } : { pid, thread });
  const heldBy = answers
    .flatMap((answer) => answer.heldBy.map((holder) => ({ ...holder, ...placeOf(answer) })))
    .sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
  const afterMs = answers[0]?.afterMs;
  const sum = (figure: 'tensors' | 'bytes') => answers.reduce((total, answer) => total + answer[figure], 0);
  return {
    version: 1,
    pid: first,
    ...(afterMs === undefined ? {} : { afterMs }),
    tensors: sum('tensors'),
    bytes: sum('bytes'),
    threads: answers.map((answer) => ({ ...placeOf(answer), pausedMs: answer.pausedMs })),
    heldBy,
    sites: sitesOf(heldBy),
  };
}

function sitesOf(holders: readonly Holder[]): WhyReport['sites'] {
  const sites = new Map<string, WhyReport['sites'][number]>();
  for (const { path, openedAt, sites: shares } of holders) {
    for (const { tensors, bytes, ...frame } of shares) {
      const key = `${frame.file}:${frame.line}:${frame.column}`;
      const site = sites.get(key) ?? { ...frame, tensors: 0, bytes: 0, heldBy: [] };
      site.tensors += tensors;
      site.bytes += bytes;
      site.heldBy.push({ path, tensors, bytes, ...(openedAt === undefined ? {} : { openedAt }) });
      sites.set(key, site);
    }
  }
  return [...sites.values()].sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
}
