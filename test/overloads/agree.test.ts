/**
 * Overloads are chosen as PyTorch chooses them: tens of thousands of calls, made from the signatures of PyTorch's own
 * argument parser, on both sides. The operators that ran must be the same, and what they gave; differences.json lists
 * what differs on purpose, with the reason.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { LIB, ROOT, torch } from '../support/torch';

interface Call {
  space: string;
  name: string;
  self?: string;
  args: unknown[];
  kwargs: Record<string, unknown>;
}
interface Answer {
  ops: string;
  value?: unknown;
  error?: string;
  absent?: boolean;
}
/** only PyTorch takes the call | only we take it | other operators ran | they gave something else */
type Kind = 'refused' | 'taken' | 'operators' | 'value';
interface Difference {
  calls: string;
  kinds: Kind[];
  reason: string;
}

const HERE = path.join(ROOT, 'test/overloads');
const differences = JSON.parse(fs.readFileSync(path.join(HERE, 'differences.json'), 'utf8')) as Difference[];

async function output(command: string, args: string[]): Promise<string> {
  const { code, signal, stdout, stderr } = await run(command, args, { env: ordinaryEnv(), limitMs: 400_000 });
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with ${code ?? signal}: ${stderr.slice(-2000)}`);
  return stdout;
}

async function compileRecorder(folder: string): Promise<string> {
  const file = path.join(folder, 'recorder.node');
  const flags = async (kind: string) =>
    (await output(process.execPath, [path.join(ROOT, 'scripts/libtorch.mjs'), kind])).trim().split('\n');
  const source = path.join(HERE, 'recorder.cpp');
  await output('g++', [
    ...(await flags('--cflags')),
    '-fPIC',
    '-shared',
    source,
    '-o',
    file,
    ...(await flags('--ldflags')),
  ]);
  return file;
}

/** An op's name for a tensor's number, or for what Python reads from the tensor without asking libtorch. */
const silent =
  /^aten::(item|is_nonzero|is_floating_point|is_neg|is_signed|is_conj|is_inference|stride\.int|requires_grad_)$/;
const operators = ({ ops }: Answer) =>
  ops
    .split(' ')
    .filter((name) => !silent.test(name))
    .join(' ');

function same(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number') {
    return a === b || Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a), Math.abs(b));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => same((a as any)[key], (b as any)[key]));
}

function difference(theirs: Answer, ours: Answer): Kind | undefined {
  if (theirs.error !== undefined) return ours.error === undefined ? 'taken' : undefined;
  if (ours.error !== undefined) return 'refused';
  if (operators(theirs) !== operators(ours)) return 'operators';
  return same(theirs.value, ours.value) ? undefined : 'value';
}

const shown = ({ space, name, self, args, kwargs }: Call) =>
  `${space}.${name}(${JSON.stringify(args).slice(1, -1)}${Object.keys(kwargs).length > 0 ? ` ${JSON.stringify(kwargs)}` : ''})${self === undefined ? '' : ` of ${self}`}`;

test(
  'the same operators run as in PyTorch, and give the same',
  async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-overloads-'));
    try {
      const recorder = await compileRecorder(folder);
      const lines = (await output('/usr/bin/python3', [path.join(HERE, 'pytorch.py'), recorder])).trimEnd().split('\n');
      const calls = lines.filter((_, i) => i % 2 === 0);
      const theirs = lines.filter((_, i) => i % 2 === 1).map((line) => JSON.parse(line) as Answer);
      const file = path.join(folder, 'calls.jsonl');
      fs.writeFileSync(file, calls.join('\n'));
      const replayed = await output(process.execPath, [
        '--no-warnings',
        path.join(HERE, 'replay.cjs'),
        LIB,
        recorder,
        file,
      ]);
      const ours = replayed.split('\n').map((line) => JSON.parse(line) as Answer);
      expect(ours).toHaveLength(calls.length);

      const rules = differences.map((rule) => ({ ...rule, pattern: new RegExp(`^(${rule.calls})$`), met: 0 }));
      const unexplained: string[] = [];
      let agreed = 0;
      calls.forEach((line, i) => {
        if (ours[i]!.absent === true) return; // test/public/names says which names are left out, and why
        const call = JSON.parse(line) as Call;
        const kind = difference(theirs[i]!, ours[i]!);
        if (kind === undefined) {
          if (theirs[i]!.error === undefined) agreed++;
          return;
        }
        const rule = rules.find(
          ({ pattern, kinds }) => kinds.includes(kind) && pattern.test(`${call.space}.${call.name}`),
        );
        if (rule !== undefined) rule.met++;
        else {
          const answers = [theirs[i]!, ours[i]!].map(
            (answer) => answer.error ?? `${answer.ops} ${JSON.stringify(answer.value)}`,
          );
          unexplained.push(`${kind}: ${shown(call)}\n  PyTorch: ${answers[0]}\n  here: ${answers[1]}`.slice(0, 700));
        }
      });
      expect(unexplained.slice(0, 20)).toEqual([]);
      expect(agreed).toBeGreaterThan(8_000);
      // Written for 1.13; others may have mended what PyTorch does there.
      if (torch.libtorchVersion.startsWith('1.13')) {
        expect(rules.filter(({ met }) => met === 0).map(({ calls: pattern }) => pattern)).toEqual([]);
      }
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
  limitMs(400_000),
);
