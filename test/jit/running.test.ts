/** Code that runs while a model is loaded: its effects, and that 'refuse' refuses it before anything runs. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ask } from '../support/child';
import { python3 } from '../support/python3';
import { balanced, LIB, ROOT, thrown, torch, untyped } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels, pathOf } from './models';

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
let folder: string;
const own = (name: string) => path.join(folder, `${name}.pt`);
const victim = () => path.join(folder, 'victim');

beforeAll(async () => {
  await makeModels();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-running-'));
  const { code, stderr } = await python3([path.join(ROOT, 'test/jit/running.py'), folder, victim()]);
  if (code !== 0) throw new Error(`PyTorch made no models: ${stderr}`);
}, MODELS_MS);
afterAll(() => {
  fs.rmSync(folder, { recursive: true, force: true });
});

/** The archive with changed entries: `change` returns an entry's new name and bytes. */
function changed(bytes: Uint8Array, change: (name: string, data: Buffer) => [string, Uint8Array]): Buffer {
  const zip = new ZipReader(
    { size: bytes.length, read: (from: number, n: number) => bytes.subarray(from, from + n) },
    Error,
  );
  const parts: Uint8Array[] = [];
  const writer = new ZipWriter({ put: (part: Uint8Array) => parts.push(part) });
  for (const entry of zip.entries.values()) writer.add(...change(entry.name, Buffer.from(zip.data(entry))));
  writer.end();
  return Buffer.concat(parts);
}
const withSource = (name: string, change: (source: string) => string) =>
  changed(fs.readFileSync(own(name)), (entry, data) => [
    entry,
    entry.endsWith('__torch__.py') ? Buffer.from(change(data.toString())) : data,
  ]);

/** Loads in a separate process, which the code may damage. */
const load = (file: string, options = '{}') =>
  ask(`
    let error;
    const before = counts();
    try { torch.scope(() => void torch.jit.load(${JSON.stringify(file)}, ${options})); } catch (e) { error = e; }
    const after = counts();
    answer({ code: error && error.code, message: error && error.message, left: after.tensors - before.tensors });`);

const refused = (source: string | Uint8Array): string => {
  const error = balanced(() => thrown(() => torch.jit.load(source, { codeWhileLoading: 'refuse' })));
  expect(error.code).toBe('ERR_TORCH_MODEL');
  return error.message;
};

test('__setstate__ can overwrite a file while the model is loaded; if refused, it does not', async () => {
  fs.writeFileSync(victim(), 'theirs');
  const { code, message, left } = await load(own('set-state'), "{ codeWhileLoading: 'refuse' }");
  expect({ code, left }).toEqual({ code: 'ERR_TORCH_MODEL', left: 0 });
  expect(message).toMatch(/runs code while it is loaded: a class has __setstate__$/);
  expect(fs.readFileSync(victim(), 'utf8')).toBe('theirs');
  expect(await load(own('set-state'))).toMatchObject({ left: 0 });
  expect(fs.readFileSync(victim(), 'utf8')).toBe('XXXXXX'); // as the docs warn
});

test('a computed default value runs while the model is loaded; if refused, it does not', async () => {
  const made = path.join(folder, 'made');
  const call = `torch.numel(torch.from_file("${made}", True, 4))`;
  const file = path.join(folder, 'computed.pt');
  fs.writeFileSync(
    file,
    withSource('defaults', (source) => source.replace('n: int=2', `n: int=${call}`)),
  );
  expect(await load(file, "{ codeWhileLoading: 'refuse' }")).toMatchObject({ code: 'ERR_TORCH_MODEL', left: 0 });
  expect(fs.existsSync(made)).toBe(false);
  expect((await load(file)).code).toBeUndefined();
  expect(fs.existsSync(made)).toBe(true);
});

test('ordinary models are not refused', () => {
  for (const name of fs.readdirSync(path.dirname(pathOf('mlp')))) {
    if (name.endsWith('.values.pt')) continue;
    torch.scope(() => {
      torch.jit.load(path.join(path.dirname(pathOf('mlp')), name), { codeWhileLoading: 'refuse' });
    });
  }
  torch.scope(() => {
    const model = torch.jit.load(own('defaults'), { codeWhileLoading: 'refuse' });
    expect((model.forward(torch.ones([1, 2])) as any).right).toBe(2);
  });
});

test('functions inside functions, of torch.jit.fork, are refused for what they are', () => {
  expect(thrown(() => torch.jit.load(own('forking'), { codeWhileLoading: 'refuse' })).message).toMatch(
    /: its code has a function inside a function, as torch\.jit\.fork makes them$/,
  );
  torch.scope(() => {
    expect(
      torch.jit
        .load(own('forking'))
        .forward(torch.ones([2]))
        .toArray(),
    ).toEqual([1, 1]);
  });
});

test('a file that is modified between the check and the load: the checked bytes are loaded', () => {
  const file = path.join(folder, 'written-to.pt');
  fs.copyFileSync(own('defaults'), file);
  const archive = require(path.join(LIB, 'jit/archive.js'));
  const { examine } = archive;
  const spy = jest.spyOn(archive, 'examine').mockImplementation((...args: unknown[]) => {
    examine(...args);
    const fd = fs.openSync(file, 'r+'); // in place
    fs.writeSync(fd, Buffer.alloc(fs.fstatSync(fd).size));
    fs.closeSync(fd);
  });
  try {
    torch.scope(() => {
      const model = torch.jit.load(file, { codeWhileLoading: 'refuse' });
      expect((model.forward(torch.ones([1, 2])) as any).right).toBe(2);
    });
    expect(spy).toHaveBeenCalledTimes(1);
    expect(fs.readFileSync(file).every((byte) => byte === 0)).toBe(true);
  } finally {
    spy.mockRestore();
  }
});

test('code that accesses files, in any place', () => {
  expect(refused(own('reaching'))).toMatch(/uses from_file, which can access files/);
  const instead = (call: string) =>
    withSource('reaching', (source) => source.replace(/torch\.from_file\([^)]*\)/, call));
  expect(refused(instead('ops.aten.from_file("x", False, n)'))).toContain('uses from_file');
  expect(refused(instead('"x".from_file(False, n)'))).toContain('uses from_file');
  expect(refused(instead('getattr(torch, "from_file")("x", False, n)'))).toMatch(/by a computed name/);
  expect(refused(instead('getattr(torch, "from\\x5ffile")("x", False, n)'))).toMatch(/by a computed name/);
  expect(refused(instead('getattr(torch, "from_" "file")("x", False, n)'))).toMatch(/not in the form/);
  expect(refused(instead('torch.save(n, "x")'))).toContain('uses save');
});

test.each([
  [
    'a call in a class',
    'training : bool',
    'training : bool = torch.numel(CONSTANTS.c0)',
    /"numel" is called for a constant/,
  ],
  ['a function of the archive', 'n: int=2', 'n: int=__torch__.float(2)', /"float" is called/],
  ['a method of a text', 'n: int=2', 'n: int="x".count("y")', /"count" is called/],
  ['what a bracket gives', 'n: int=2', 'n: int=[torch.numel][0](CONSTANTS.c0)', /"\]" is called/],
  ['a tab', '    return', '\treturn', /not in the form that PyTorch writes, at "\\t"/],
  ['a carriage return', 'n: int=2', '\rn: int=2', /not in the form that PyTorch writes/],
  ['a comment', 'n: int=2', 'n: int=2 # (', /not in the form that PyTorch writes, at "#"/],
  ['a line that goes on', 'n: int=2', '\\\nn: int=2', /not in the form that PyTorch writes/],
  ['a semicolon', '    return', '    pass; return', /not in the form that PyTorch writes, at ";"/],
  ['three quotes', 'n: int=2', 'n: str="""x"""', /not in the form that PyTorch writes/],
  ['a prefix', 'n: int=2', 'n: str=r"x"', /not in the form that PyTorch writes/],
  ['a letter beyond ASCII', 'n: int=2', 'ñ: int=2', /not in the form that PyTorch writes/],
  ['__setstate__ in a comment', 'n: int=2', 'n: int=2 # __setstate__', /a class has __setstate__/],
  [
    'a function in a function',
    '    return',
    '    def f(x: int=torch.seed()):\n      return x\n    return',
    /a function inside a function/,
  ],
])('sources that libtorch might parse differently, or runs: %s', (_, from, to, message) => {
  let done = 0;
  const bytes = withSource('defaults', (source) => {
    if (!source.includes(from)) return source;
    done++;
    return source.replace(from, to);
  });
  expect(done).toBe(1);
  expect(refused(bytes)).toMatch(message);
});

test('libtorch ignores the case of entry names, and so does the check', () => {
  const shouting = (name: string) => name.replace(/code\/.*/, (code) => code.toUpperCase());
  const deep = (name: string, data: Buffer): Buffer =>
    name.endsWith('.py') ? Buffer.from(`${data}\n${'('.repeat(5000)}`) : data;
  const hidden = changed(bytesOf('control'), (name, data) => [shouting(name), deep(name, data)]);
  const error = balanced(() => thrown(() => torch.jit.load(hidden)));
  expect([error.code, error.message]).toEqual(['ERR_TORCH_MODEL', expect.stringMatching(/brackets nested more than/)]);
  const setState = changed(fs.readFileSync(own('set-state')), (name, data) => [shouting(name), data]);
  expect(refused(setState)).toMatch(/a class has __setstate__/);
  const zip = changed(bytesOf('control'), (name, data) => [
    name.replace(/data\/.*$|constants\.pkl$/, (end) => end),
    data,
  ]);
  let first = true;
  const twice = changed(zip, (name, data) => {
    if (!name.endsWith('.debug_pkl') || !first) return [name, data];
    first = false;
    return [name.replace(/code\/.*/, 'DATA.PKL'), data];
  });
  expect(thrown(() => torch.jit.load(twice)).message).toMatch(/another entry has the same name in a different case/);
});

test('values other than allow and refuse, and unknown options', () => {
  for (const value of [null, true, 'no']) {
    const error = thrown(() => untyped.jit.load(pathOf('mlp'), { codeWhileLoading: value }));
    expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'codeWhileLoading' });
  }
  expect(thrown(() => untyped.jit.load(pathOf('mlp'), { codeWhileloading: 'refuse' })).message).toMatch(
    /did you mean 'codeWhileLoading'/,
  );
});
