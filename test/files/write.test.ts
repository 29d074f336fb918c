/** Atomically written files: temporary names, permissions, and partial writes of Node. */
import * as fs from 'node:fs';
import { constants, tmpdir } from 'node:os';
import * as path from 'node:path';
import { codeOf, LIB, ROOT, thrown, torch } from '../support/torch';

test('more than 2 GiB are written in chunks that Node accepts', () => {
  const { writeWhole } = require(path.join(LIB, 'files/write.js'));
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-write-'));
  const pieces: [number, number][] = [];
  // Untouched pages do not take memory, and nothing is written.
  const large = new Uint8Array(2 ** 31 + 5);
  const spy = jest.spyOn(require('node:fs'), 'writeSync').mockImplementation(((
    _: number,
    __: Uint8Array,
    at: number,
    length: number,
  ) => {
    pieces.push([at, length]);
    return length;
  }) as never);
  try {
    writeWhole(path.join(folder, 'large'), (to: { put(bytes: Uint8Array): void }) => to.put(large));
  } finally {
    spy.mockRestore();
    fs.rmSync(folder, { recursive: true });
  }
  expect(pieces).toEqual([
    [0, 2 ** 30],
    [2 ** 30, 2 ** 30],
    [2 ** 31, 5],
  ]);
});

describe('beside the file', () => {
  let folder: string;
  const file = (name = 'x.pt') => path.join(folder, name);
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-write-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));
  const save = (to: string) => torch.scope(() => torch.save([torch.ones([2])], to));

  /** The files opened for writing during `work`. */
  function opened(work: () => void): [string, number, number][] {
    const calls: [string, number, number][] = [];
    const node = require('node:fs');
    const open = node.openSync;
    const spy = jest.spyOn(node, 'openSync').mockImplementation(((name: string, flags: number, mode: number) => {
      if (String(name).startsWith(folder)) calls.push([name, flags, mode]);
      return open(name, flags, mode);
    }) as never);
    try {
      work();
    } finally {
      spy.mockRestore();
    }
    return calls;
  }

  test('a random name, opened as a new file without following links', () => {
    const calls = [...opened(() => save(file())), ...opened(() => save(file()))];
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_TRUNC, O_WRONLY } = fs.constants;
    for (const [name, flags] of calls) {
      expect(name).toMatch(/x\.pt\.[0-9a-f]{18}\.partial$/);
      expect(name).not.toContain(`.${process.pid}.`);
      expect(flags & ~O_TRUNC).toBe(O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    }
    expect(new Set(calls.map(([name]) => name)).size).toBe(2);
    expect(fs.readdirSync(folder)).toEqual(['x.pt']);
  });

  test('a name of the greatest length', () => {
    for (const name of ['a'.repeat(255), 'é'.repeat(127)]) {
      save(file(name));
      expect(fs.readdirSync(folder)).toEqual([name]);
      fs.rmSync(file(name));
    }
  });

  test('beside the file, also where the path goes up from a link', () => {
    fs.mkdirSync(file('real/inner'), { recursive: true });
    fs.symlinkSync('real/inner', file('link'));
    const [[name]] = opened(() => save(`${folder}/link/../x.pt`)) as [[string, number, number]];
    expect(name).toMatch(/\/link\/\.\.\/x\.pt\.[0-9a-f]{18}\.partial$/);
    expect(fs.readdirSync(file('real'))).toEqual(['inner', 'x.pt']);
  });

  test('a planted link is neither followed nor kept, a planted file is not used', () => {
    const victim = file('victim');
    fs.writeFileSync(victim, 'theirs');
    const { writeWhole } = require(path.join(LIB, 'files/write.js'));
    const crypto = require('node:crypto');
    const spy = jest.spyOn(crypto, 'randomBytes').mockReturnValue(Buffer.alloc(9) as never); // a name that was guessed
    try {
      const guessed = `${file()}.${'0'.repeat(18)}.partial`;
      for (const plant of [() => fs.symlinkSync(victim, guessed), () => fs.writeFileSync(guessed, 'theirs')]) {
        plant();
        expect(
          codeOf(() => writeWhole(file(), (to: { put(bytes: Uint8Array): void }) => to.put(Buffer.from('mine')))),
        ).toBe('EEXIST');
        expect([fs.readFileSync(victim, 'utf8'), fs.existsSync(file())]).toEqual(['theirs', false]);
        fs.rmSync(guessed);
      }
    } finally {
      spy.mockRestore();
    }
  });

  test('a private file stays private while it is written and afterwards; a new one has the umask', () => {
    fs.writeFileSync(file(), 'old', { mode: 0o600 });
    expect(opened(() => save(file())).map(([, , mode]) => mode)).toEqual([0o600]);
    expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
    fs.chmodSync(file(), 0o666);
    save(file());
    expect(fs.statSync(file()).mode & 0o777).toBe(0o666);
    save(file('new'));
    expect(fs.statSync(file('new')).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  const asRoot = process.geteuid?.() === 0;
  (asRoot ? test : test.skip)(
    "another user's file does not give rights beyond the umask, and its own restrictions stay",
    () => {
      const { writeWholeFile } = require(path.join(ROOT, 'dist/cli/files/whole-file.js'));
      const usual = 0o666 & ~process.umask();
      for (const write of [save, (to: string) => writeWholeFile(to, 'text')]) {
        const modeAfter = (mode: number, uid: number) => {
          fs.rmSync(file(), { force: true });
          fs.writeFileSync(file(), 'planted');
          fs.chownSync(file(), uid, uid);
          fs.chmodSync(file(), mode);
          write(file());
          const stat = fs.statSync(file());
          return [stat.uid, stat.mode & 0o7777];
        };
        const STRANGER = 65533;
        expect(modeAfter(0o666, STRANGER)).toEqual([0, usual]);
        expect(modeAfter(0o777, STRANGER)).toEqual([0, usual]);
        expect(modeAfter(0o600, STRANGER)).toEqual([0, 0o600]);
        expect(modeAfter(0, STRANGER)).toEqual([0, 0o600]);
        expect(modeAfter(0o666, 0)).toEqual([0, 0o666]);
      }
    },
  );

  test('a failure does not change the old file, and leaves nothing beside it', () => {
    fs.writeFileSync(file(), 'old');
    const { native } = require(path.join(LIB, 'addon/native.js'));
    const spy = jest.spyOn(native, 'syncFile').mockReturnValue(constants.errno.ENOSPC);
    try {
      for (const write of [
        () => save(file()),
        () => torch.scope(() => torch.safetensors.save(file(), { a: torch.ones([1]) })),
        () => torch.scope(() => torch.npy.save(file(), torch.ones([1]))),
        () => torch.scope(() => torch.npz.save(file(), { a: torch.ones([1]) })),
      ]) {
        expect(codeOf(write)).toBe('ENOSPC');
      }
    } finally {
      spy.mockRestore();
    }
    expect([fs.readdirSync(folder), fs.readFileSync(file(), 'utf8')]).toEqual([['x.pt'], 'old']);
  });

  test('a FIFO, a device and a folder are not replaced', () => {
    const { execFileSync } = require('node:child_process');
    execFileSync('mkfifo', [file('fifo')]);
    fs.mkdirSync(file('folder'));
    for (const [name, kind] of [
      [file('fifo'), 'a FIFO, a socket or a device'],
      ['/dev/null', 'a FIFO, a socket or a device'],
      [file('folder'), 'a folder'],
    ] as const) {
      const error = thrown(() => save(name));
      expect([error.code, error.message]).toEqual(['ERR_TORCH_FILE', expect.stringContaining(`got ${kind}`)]);
    }
    expect(fs.statSync('/dev/null').isCharacterDevice()).toBe(true);
    expect(fs.readdirSync(folder).sort()).toEqual(['fifo', 'folder']);
  });
});
