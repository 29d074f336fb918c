/** What holds the tensors of a process, from the answers of its threads, and of its child processes: the public JSON. */
import type { Answer, Holder } from './holder';
import type { SiteShare } from './sites';

export interface WhyReport {
  version: 1;
  /** Of the first process. */
  pid: number;
  tensors: number;
  bytes: number;
  threads: { pid: number; thread: number; pausedMs: number }[];
  /** Most bytes first. */
  heldBy: (Holder & { pid: number; thread: number })[];
  /** The same by the line that created the tensors, if known. */
  sites: (SiteShare & { heldBy: { path: string[]; tensors: number; bytes: number; openedAt?: string }[] })[];
}

export function whyReport(answers: readonly Answer[]): WhyReport {
  const heldBy = answers
    .flatMap(({ pid, thread, heldBy: all }) => all.map((holder) => ({ ...holder, pid, thread })))
    .sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors);
  const sum = (figure: 'tensors' | 'bytes') => answers.reduce((total, answer) => total + answer[figure], 0);
  return {
    version: 1,
    pid: answers[0]?.pid ?? 0,
    tensors: sum('tensors'),
    bytes: sum('bytes'),
    threads: answers.map(({ pid, thread, pausedMs }) => ({ pid, thread, pausedMs })),
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
