/**
 * Makes the calls of pytorch.py with libtorch-node: one JSON object per line in and out, in the form of pytorch.py.
 *
 *     replay.cjs LIBRARY RECORDER CALLS
 */
const fs = require('node:fs');
const torch = require(process.argv[2]);
const recorder = require(process.argv[3]);

torch.setNumThreads?.(1);
const camel = (name) => name.replace(/(?<=[^_])_+([^_])/g, (_, next) => next.toUpperCase());

const range = (from, to) => torch.arange(from, to, { dtype: 'float32' });
const tensors = {
  f: () => range(1, 10).view(3, 3).div(4),
  g: () => range(0, 9).view(3, 3).div(8).sub(0.5),
  i: () => torch.arange(9).view(3, 3).remainder(3),
  b: () => torch.arange(9).view(3, 3).remainder(2).eq(0),
  z: () => torch.tensor(2.5),
  zi: () => torch.tensor(1n),
  v: () => range(1, 4),
  c: () => torch.complex(range(1, 10).view(3, 3), torch.ones([3, 3])),
};

function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== 'object') return value;
  const [[kind, content]] = Object.entries(value);
  if (kind === 't') return tensors[content]();
  if (kind === 'c') return { re: content[0], im: content[1] };
  if (kind === 'g') return new torch.Generator().manualSeed(content);
  return content;
}

function number(value) {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    return String(value).replace('Infinity', 'inf').replace('NaN', 'nan');
  if (typeof value === 'object' && value !== null && 're' in value) return [number(value.re), number(value.im)];
  return value;
}

function encode(value) {
  if (value instanceof torch.Tensor) {
    const shown = { dtype: value.dtype, shape: value.shape, device: value.device.replace(/:\d+$/, '') };
    if (shown.device === 'cpu' && value.layout === 'strided' && value.numel <= 64 && !/^q/.test(value.dtype)) {
      shown.data = value.detach().resolveConj().resolveNeg().flatten().toArray().map(number);
    }
    return shown;
  }
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value === 'object' && value !== null && !('re' in value)) return { object: String(value) };
  return value === undefined ? null : number(value);
}

const spaces = { torch, F: torch.nn.functional, linalg: torch.linalg, fft: torch.fft, special: torch.special };

function run(call) {
  const name = camel(call.name);
  const holder = call.space === 'method' ? tensors[call.self]() : spaces[call.space];
  // A name that means another one throws when it is read.
  if (!(name in holder) || typeof holder[name] !== 'function') return { absent: true };
  const args = call.args.map(decode);
  const options = Object.fromEntries(Object.entries(call.kwargs).map(([key, value]) => [camel(key), decode(value)]));
  if (Object.keys(options).length > 0) args.push(options);
  torch.manualSeed(0);
  const answer = {};
  recorder.start();
  try {
    const result = holder[name](...args);
    answer.ops = recorder.stop();
    answer.value = encode(result);
  } catch (error) {
    answer.ops = recorder.stop();
    answer.error = `${error.code ?? error.name}: ${error.message.slice(0, 300)}`;
  }
  return answer;
}

const answers = fs
  .readFileSync(process.argv[4], 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => torch.scope(() => JSON.stringify(run(JSON.parse(line)))));
fs.writeFileSync(1, answers.join('\n'));
