/** Special files in place of a file of tensors or of a model: one error at once, without waiting. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { ask } from '../support/child';
import { balanced, LIB, thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-kinds-'));
  execFileSync('mkfifo', [path.join(folder, 'fifo')]);
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

const loaders: [string, (torch: any, file: string) => unknown, string][] = [
  ['torch.load', (t, file) => t.load(file), 'ERR_TORCH_FILE'],
  ['safetensors.load', (t, file) => t.safetensors.load(file), 'ERR_TORCH_FILE'],
  ['safetensors.open', (t, file) => t.safetensors.open(file), 'ERR_TORCH_FILE'],
  ['npy.load', (t, file) => t.npy.load(file), 'ERR_TORCH_FILE'],
  ['npz.load', (t, file) => t.npz.load(file), 'ERR_TORCH_FILE'],
  ['jit.load', (t, file) => t.jit.load(file), 'ERR_TORCH_MODEL'],
];

test.each(loaders)('%s of a FIFO, a device, a folder, a socket', async (_, load, code) => {
  // In a separate process, which is killed if it waits.
  const answers = await ask(`
    const server = require('net').createServer().listen(${JSON.stringify(path.join(folder, 'socket'))}, () => {
      const load = ${load.toString()};
      const answers = ['fifo', 'socket', '.'].map((name) => require('path').join(${JSON.stringify(folder)}, name));
      answer([...answers, '/dev/zero', '/dev/null', '/proc/self/mem'].map((file) => {
        try { load(torch, file); return 'loaded'; } catch (error) { return error.code + ' ' + error.message; }
      }));
      server.close();
    });`);
  const kinds = ['a FIFO', 'a socket', 'a folder', 'a device', 'a device'];
  for (const [i, kind] of kinds.entries()) {
    expect(answers[i]).toMatch(new RegExp(`^${code} .*expected a regular file, got ${kind}$`));
  }
  expect(answers[5]).toMatch(new RegExp(`^${code} .* is empty$`));
});

test('a FIFO that replaces the file after the first check', () => {
  const fifo = path.join(folder, 'fifo');
  const node = require('node:fs');
  for (const [, load, code] of loaders) {
    const spy = jest
      .spyOn(node, 'statSync')
      .mockImplementation(() => fs.lstatSync(path.join(LIB, 'index.js')) as never);
    try {
      const error = balanced(() => thrown(() => load(untyped, fifo)));
      expect([error.code, error.message]).toEqual([
        code,
        expect.stringContaining('expected a regular file, got a FIFO'),
      ]);
    } finally {
      spy.mockRestore();
    }
  }
});

test('the opened file is mapped, whatever its name refers to afterwards', () => {
  const file = path.join(folder, 'first.npy');
  const other = path.join(folder, 'second.npy');
  torch.scope(() => {
    torch.npy.save(file, torch.full([4], 1));
    torch.npy.save(other, torch.full([4], 2));
  });
  const node = require('node:fs');
  const open = node.openSync;
  const spy = jest.spyOn(node, 'openSync').mockImplementation(((...args: unknown[]) => {
    const fd = open(...args);
    if (args[0] === file) fs.renameSync(other, file);
    return fd;
  }) as never);
  try {
    torch.scope(() => expect(torch.npy.load(file).tolist()).toEqual([1, 1, 1, 1]));
  } finally {
    spy.mockRestore();
  }
});

test('descriptors are closed, also those of refused files', () => {
  const count = () => fs.readdirSync('/proc/self/fd').length;
  const file = path.join(folder, 'x.npy');
  torch.scope(() => torch.npy.save(file, torch.ones([4])));
  const before = count();
  for (let i = 0; i < 20; i++) {
    torch.scope(() => void torch.npy.load(file));
    thrown(() => torch.load(file));
    thrown(() => torch.load(folder));
  }
  expect(count()).toBe(before);
});

test('a package is not unpacked where others could replace it', async () => {
  const open = path.join(folder, 'open');
  fs.mkdirSync(open);
  const answers = await ask(`
    const fs = require('fs');
    const { unpackingFolder } = require(${JSON.stringify(path.join(LIB, 'inductor/folder.js'))});
    process.env.TMPDIR = ${JSON.stringify(open)};
    answer([0o700, 0o1777, 0o777].map((mode) => {
      fs.chmodSync(process.env.TMPDIR, mode);
      try {
        const made = unpackingFolder(Error);
        const { mode } = fs.statSync(made);
        fs.rmdirSync(made);
        return mode & 0o777;
      } catch (error) {
        return error.message;
      }
    }));`);
  expect(answers).toEqual([
    0o700,
    0o700, // sticky, like /tmp
    expect.stringMatching(/TMPDIR\): .*open can be written by other users \(mode 0777\)/),
  ]);
  expect(fs.readdirSync(open)).toEqual([]);
});

test.each(loaders.filter(([name]) => !/open|jit/.test(name)))('%s of bytes whose buffer was transferred', (_, load) => {
  const bytes = torch.saveToBuffer({ a: 1 });
  const moved = new Uint8Array(bytes);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  const { code, message } = thrown(() => load(untyped, moved as never));
  expect(code).toBe('ERR_TORCH_ARGUMENT');
  expect(message).toMatch(/argument 'source': expected an array with its memory, got one whose buffer was detached/);
});
