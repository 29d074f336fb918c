/** Progress of a training: plain lines in logs, a bar of cli-progress on terminals. */
import { Writable } from 'node:stream';
import { settled, thrown, torch } from '../support/torch';

const { Progress } = torch.utils;

/** A stream that keeps what is written; with `isTTY` it is a terminal of 100 columns. */
function stream(isTTY = false) {
  let text = '';
  const write = (chunk: unknown, _: unknown, done: () => void) => {
    text += chunk;
    done();
  };
  const output = Object.assign(new Writable({ write }), { isTTY, columns: 100, rows: 20 });
  return { output, text: () => text };
}

const FIGURES = String.raw`[\d.,]+ it/s, [\d.,]+ samples/s, (\d+h \d\dm|\d+m \d\ds|\d+s) left, \d+ tensors`;

test('in logs: a line after every two steps, and after the last one', () => {
  const { output, text } = stream();
  const progress = new Progress({ total: 5, label: 'epoch 2', every: 2, output });
  for (let i = 1; i <= 5; i++) progress.step({ loss: 1 / i, samples: 64 });
  progress.end();
  progress.end();
  const lines = text().trimEnd().split('\n');
  expect(lines.length).toBe(3);
  for (const [i, line] of lines.entries()) {
    const step = [2, 4, 5][i]!;
    const loss = (1 / step).toFixed(6);
    expect(line).toMatch(new RegExp(`^epoch 2, step ${step} of 5: loss ${loss}, ${FIGURES}$`));
  }
  expect(progress.steps).toBe(5);
});

test('without a total there is no time left, without a loss none; live tensors are counted', () => {
  const { output, text } = stream();
  const kept = torch.ones([3]);
  const { tensors } = settled();
  const progress = new Progress({ every: 1, output });
  progress.step();
  expect(text()).toMatch(new RegExp(String.raw`^step 1: [\d.,]+ it/s, ${tensors} tensors\n$`));
  kept.dispose();
});

test('on a terminal: a bar that is redrawn, and ended once', () => {
  const { output, text } = stream(true);
  const progress = new Progress({ total: 4, label: 'epoch {value}', output });
  for (let i = 0; i < 4; i++) progress.step({ loss: 0.5 });
  progress.end();
  const shown = text();
  progress.end();
  expect(text()).toBe(shown);
  expect(shown).toMatch(/epoch .*█{20} 4\/4 loss 0\.500000, [\d.,]+ it\/s/);
  expect(shown.endsWith('\n')).toBe(true);
});

test('refuses wrong options, by name', () => {
  expect(thrown(() => new Progress({ total: 0 })).message).toMatch(
    /Progress: argument 'total': expected an integer of 1/,
  );
  expect(thrown(() => new Progress({ output: {} as never })).message).toMatch(/'output': expected a stream/);
  expect(thrown(() => new Progress({ steps: 3 } as never)).code).toBe('ERR_TORCH_ARGUMENT');
});
