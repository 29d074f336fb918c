/** Loaded tensors do not change, whatever happens to the file or the bytes; and the meaning of `mmap`. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { ask, program } from '../support/child';
import { busErrorEnv, limitMs, ordinaryEnv } from '../support/sanitized';
import { balanced, codeOf, LIB, thrown, torch } from '../support/torch';

let folder: string;
const at = (name: string) => path.join(folder, name);

/** Writes files of all formats in place, each with 50,000 numbers of that value. */
const SCRIPT = `
import sys, json, struct, numpy as np, torch
folder, value = sys.argv[1] + '/', float(sys.argv[2])
array = np.full(50000, value, dtype='f4')
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((50000,), value))
    def forward(self, x):
        return self.weight * x
torch.save({'a': torch.full((50000,), value)}, folder + 'a.pt')
torch.jit.save(torch.jit.script(Model()), folder + 'a.jit')
np.save(folder + 'a.npy', array)
np.savez(folder + 'a.npz', a=array)
np.savez_compressed(folder + 'packed.npz', a=array)
header = json.dumps({'a': {'dtype': 'F32', 'shape': [50000], 'data_offsets': [0, 200000]}}).encode().ljust(72)
open(folder + 'a.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header + array.tobytes())
`;
/** The arguments of Python that write them to a folder. */
const writer = (to: string, value: number) => ['-W', 'ignore', at('write.py'), to, String(value)];

beforeAll(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-copies-'));
  fs.writeFileSync(at('write.py'), SCRIPT);
  for (const value of [1, 2]) {
    fs.mkdirSync(at(`of${value}`));
    execFileSync('/usr/bin/python3', writer(at(`of${value}`), value), { env: ordinaryEnv() });
  }
}, limitMs(120_000));

/** Rewrites all of them in place, like Python. */
function write(value: number): void {
  for (const name of fs.readdirSync(at(`of${value}`)))
    fs.writeFileSync(at(name), fs.readFileSync(at(`of${value}/${name}`)));
}
beforeEach(() => write(1));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Each loads a tensor from the file. */
const loaders: Readonly<Record<string, [file: string, load: (t: any, file: string, options?: object) => any]>> = {
  'torch.load': ['a.pt', (t, file, options) => t.load(file, options).a],
  'safetensors.load': ['a.safetensors', (t, file, options) => t.safetensors.load(file, options).a],
  'safetensors.open': [
    'a.safetensors',
    (t, file, options) => {
      const opened = t.safetensors.open(file, options);
      const tensor = opened.get('a');
      opened.close();
      return tensor;
    },
  ],
  'npy.load': ['a.npy', (t, file, options) => t.npy.load(file, options)],
  'npz.load': ['a.npz', (t, file, options) => t.npz.load(file, options).a],
  'npz.load of packed arrays': ['packed.npz', (t, file, options) => t.npz.load(file, options).a],
  'jit.load': ['a.jit', (t, file, options) => t.jit.load(file, options).namedParameters().weight.detach()],
};

/** For programs: `loaded()` gives the tensors of all files, by name. */
const LOADERS = (options = '{}') => `
  const fs = require('fs');
  const loaders = {${Object.entries(loaders).map(([name, [file, load]]) => `${JSON.stringify(name)}: [${JSON.stringify(file)}, ${load.toString()}]`)}};
  const at = (name) => require('path').join(${JSON.stringify(folder)}, name);
  const loaded = () => Object.fromEntries(
    Object.entries(loaders).map(([name, [file, load]]) => [name, load(torch, at(file), ${options})]));
  const folder = ${JSON.stringify(folder)};
  const write = (value) => {
    const from = folder + '/of' + value + '/';
    for (const name of fs.readdirSync(from)) fs.writeFileSync(at(name), fs.readFileSync(from + name));
  };
  const values = (tensors) => Object.values(tensors).map((t) => [t.min().item(), t.max().item()]);`;

const ones = Object.keys(loaders).map(() => [1, 1]);

test('another program rewrites and then truncates the files: loaded tensors and the process are not affected', async () => {
  const answers = await ask(`${LOADERS()}
    const tensors = loaded();
    require('child_process').execFileSync('/usr/bin/python3', ${JSON.stringify(writer(folder, 2))},
      { env: ${JSON.stringify(ordinaryEnv())} });
    const rewritten = values(tensors);
    for (const [file] of Object.values(loaders)) fs.truncateSync(at(file), 0);
    answer([rewritten, values(tensors)]);`);
  expect(answers).toEqual([ones, ones]);
});

test('bytes in memory that are reused: loaded tensors are not affected', () => {
  for (const [name, [file, load]] of Object.entries(loaders)) {
    if (name === 'safetensors.open') continue;
    balanced(() =>
      torch.scope(() => {
        const bytes = fs.readFileSync(at(file));
        const tensor = load(torch, bytes as never);
        bytes.fill(0x3f);
        expect([name, tensor.min().item(), tensor.max().item()]).toEqual([name, 1, 1]);
      }),
    );
  }
});

test('each byte is charged once, to libtorch’s memory, also at the peak', async () => {
  const answers = await ask(`${LOADERS()}
    // All stay alive, so that each load exceeds the previous peak.
    const kept = [];
    answer(Object.entries(loaders).map(([name, [file, load]]) => {
      const before = torch.memory();
      const tensor = load(torch, at(file));
      kept.push(tensor);
      const after = torch.memory();
      return [name, tensor.nbytes, after.allocatedBytes - before.allocatedBytes, after.bytes - before.bytes,
        after.peakAllocatedBytes - before.allocatedBytes];
    }));`);
  for (const [name, bytes, allocated, counted, peak] of answers) {
    const script = name === 'jit.load'; // libtorch keeps a little memory
    expect([name, bytes, counted]).toEqual([name, 200_000, 200_000]);
    expect([name, script ? Math.floor(allocated / 10_000) * 10_000 : allocated]).toEqual([name, 200_000]);
    expect([name, peak < (script ? 220_000 : 200_001)]).toEqual([name, true]);
  }
});

test('the memory limit is kept, and refused loads leak nothing', () => {
  for (const [name, [file, load]] of Object.entries(loaders)) {
    balanced(() => {
      torch.setMemoryLimit(torch.memory().allocatedBytes + 100_000);
      try {
        expect([name, codeOf(() => load(torch, at(file)))]).toEqual([name, 'ERR_TORCH_MEMORY_LIMIT']);
      } finally {
        torch.setMemoryLimit(null);
      }
    });
  }
});

/** Formats without checksums. */
const unsummed = ['safetensors.load', 'safetensors.open', 'npy.load'];

test('data without checksums is read directly into the tensors', () => {
  const node = require('node:fs');
  for (const name of unsummed) {
    const [file, load] = loaders[name]!;
    let bytes = 0;
    const read = node.readSync;
    const spy = jest.spyOn(node, 'readSync').mockImplementation(((...args: unknown[]) => {
      const got = read(...args);
      bytes += got;
      return got;
    }) as never);
    try {
      balanced(() => torch.scope(() => expect(load(torch, at(file)).mean().item()).toBe(1)));
    } finally {
      spy.mockRestore();
    }
    expect([name, bytes < 20_000]).toEqual([name, true]); // the header; the elements have 200,000 bytes
  }
});

test('a file that shrinks after its size was read: an error, as for a part that is read again', () => {
  const { native } = require(path.join(LIB, 'addon/native.js'));
  const read = native.readBytes;
  for (const name of unsummed) {
    write(1);
    const [file, load] = loaders[name]!;
    native.readBytes = (...args: unknown[]) => {
      fs.truncateSync(at(file), 100_000);
      return read(...args);
    };
    try {
      const error = balanced(() => thrown(() => torch.scope(() => load(torch, at(file)))));
      expect([name, error.code, error.message]).toEqual([
        name,
        'ERR_TORCH_FILE',
        expect.stringMatching(/modified since it was opened: expected \d+ bytes .*, got 100000 bytes/),
      ]);
    } finally {
      native.readBytes = read;
    }
  }
});

/** Exists where Linux supports huge pages, whether enabled or not. */
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage';

// The first one is always tried. How many follow depends on what the kernel takes for them (native/exports/huge_pages.h).
test('a large file is read into huge pages, of at most its size', async () => {
  const answer = await ask(`
    const fs = require('fs');
    const file = ${JSON.stringify(at('large.npy'))};
    torch.npy.save(torch.ones([16 << 20]), file);
    const advised = () => fs.readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-)/m)
      .filter((mapping) => /^VmFlags:.* hg( |$)/m.test(mapping))
      .reduce((sum, mapping) => sum + Number(/^Size: +(\\d+) kB/m.exec(mapping)[1]) * 1024, 0);
    const before = advised();
    const tensor = torch.npy.load(file);
    const bytes = advised() - before;
    answer({ sum: tensor.sum().item(), least: bytes >= (2 << 20), whole: bytes % (2 << 20), most: bytes <= (64 << 20) });
  `);
  expect(answer).toEqual({ sum: 2 ** 24, least: fs.existsSync(HUGE_PAGES), whole: 0, most: true });
});

test('a file that is truncated or modified while it is read is an error', () => {
  const node = require('node:fs');
  const read = node.readSync;
  const harms: [string, (file: string) => void, RegExp][] = [
    ['cut', (file) => fs.truncateSync(file, 100), /modified since it was opened: expected \d+ bytes .*, got 100 bytes/],
    ['written', (file) => fs.utimesSync(file, 5, 5), /modified since it was opened: expected .* got .* written 1970-/],
  ];
  for (const [name, [file, load]] of Object.entries(loaders)) {
    for (const [harm, how, message] of harms) {
      write(1);
      let left = 1; // by then the file is open
      const spy = jest.spyOn(node, 'readSync').mockImplementation(((...args: unknown[]) => {
        if (left-- === 0) how(at(file));
        return read(...args);
      }) as never);
      try {
        const error = balanced(() => thrown(() => torch.scope(() => load(torch, at(file)))));
        const code = name === 'jit.load' ? 'ERR_TORCH_MODEL' : 'ERR_TORCH_FILE';
        expect([name, harm, error.code]).toEqual([name, harm, code]);
        expect(error.message).toMatch(message);
      } finally {
        spy.mockRestore();
      }
    }
  }
});

test('an open safetensors file that is modified: later reads are refused, earlier tensors stay', () => {
  for (const mmap of [false, true]) {
    for (const harm of [() => write(2), () => fs.truncateSync(at('a.safetensors'), 150)]) {
      write(1);
      torch.scope(() => {
        const opened = torch.safetensors.open(at('a.safetensors'), { mmap });
        const before = mmap ? null : opened.get('a');
        harm();
        const error = thrown(() => opened.get('a'));
        expect([error.code, error.message]).toEqual([
          'ERR_TORCH_FILE',
          expect.stringMatching(/^safetensors: the file was modified since it was opened: expected 200080 bytes/),
        ]);
        if (before !== null) expect(before.mean().item()).toBe(1);
        opened.close();
      });
    }
  }
});

test('a model whose file is modified while libtorch reads it: libtorch gets the checked code', async () => {
  const answer = await ask(`
    const fs = require('fs');
    const file = ${JSON.stringify(at('a.jit'))};
    const { native } = require(${JSON.stringify(path.join(LIB, 'addon/native.js'))});
    const load = native.modelLoadFile;
    fs.copyFileSync(file, file + '.whole');
    fs.utimesSync(file, 1e9, 1e9);
    native.modelLoadFile = (...args) => {
      const { size } = fs.statSync(file);
      const fd = fs.openSync(file, 'r+');
      fs.writeSync(fd, Buffer.alloc(400, 0xff), 0, 400, size - 400); // the directory
      fs.closeSync(fd);
      if (hidden) fs.utimesSync(file, 1e9, 1e9); // so that the check at the end of the load does not notice
      return load(...args);
    };
    let hidden = true;
    const value = torch.jit.load(file).forward(torch.ones([1])).max().item();
    fs.copyFileSync(file + '.whole', file);
    hidden = false;
    try { torch.jit.load(file); } catch (error) { answer([value, error.code, error.message]); }`);
  expect(answer).toEqual([
    1,
    'ERR_TORCH_MODEL',
    expect.stringMatching(/^jit\.load: the file was modified since it was/),
  ]);
});

describe('mmap: true', () => {
  const mapped = ['torch.load', 'safetensors.load', 'safetensors.open', 'npy.load', 'npz.load'];

  test('nothing is allocated, writes do not reach the file, and replacing the file by rename changes nothing', async () => {
    const answers = await ask(`${LOADERS('{ mmap: true }')}
      delete loaders['npz.load of packed arrays'];
      delete loaders['jit.load'];
      torch.scope(() => torch.npz.save({ a: torch.ones([50000]) }, at('a.npz'))); // NumPy's own files are not aligned, so they are copied
      const before = torch.memory().allocatedBytes;
      const tensors = loaded();
      const allocated = torch.memory().allocatedBytes - before;
      for (const [file] of Object.values(loaders)) {
        fs.writeFileSync(at('other'), Buffer.alloc(10));
        fs.renameSync(at('other'), at(file));
      }
      const replaced = values(tensors);
      for (const t of Object.values(tensors)) t.add_(1);
      write(1);
      answer([Object.keys(tensors), allocated, replaced, values(tensors), values(loaded())]);`);
    const of = (value: number) => mapped.map(() => [value, value]);
    expect(answers).toEqual([mapped, 0, of(1), of(2), of(1)]);
  });

  test('writing to the file in place is visible, and truncating it ends the process, as the docs say', async () => {
    const source = (harm: string) => `${LOADERS('{ mmap: true }')}
      const t = torch.safetensors.load(at('a.safetensors'), { mmap: true }).a;
      ${harm}
      answer(t.max().item());`;
    expect(await ask(source('write(2);'))).toBe(2);
    const { signal } = await program(source("fs.truncateSync(at('a.safetensors'), 0);"), [], { env: busErrorEnv() });
    expect(signal).toBe('SIGBUS');
  });

  test('bytes in memory are shared', () => {
    torch.scope(() => {
      const bytes = torch.npy.serialize(torch.ones([4]));
      const array = torch.npy.load(bytes, { mmap: true });
      new Float32Array(bytes.buffer, bytes.byteOffset + bytes.length - 16, 4).fill(5);
      expect(array.tolist()).toEqual([5, 5, 5, 5]);
    });
  });

  test('anything but a boolean is refused', () => {
    for (const [, [file, load]] of Object.entries(loaders)) {
      expect(thrown(() => load(torch, at(file), { mmap: 1 })).message).toMatch(
        /^[\w.]+: argument 'mmap': expected a boolean, got 1$/,
      );
    }
  });
});
