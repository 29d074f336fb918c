/**
 * Detects the format of a file from its content, so that each loader can name the format that it got and the function that
 * reads it. Unknown formats are left to the loader.
 */
import { Budget } from './limits';
import { type Bytes, ZipReader } from './zip';

export type FormatName = 'torch' | 'jit' | 'package' | 'npz' | 'npy' | 'safetensors';

interface Format {
  /** Set for formats that this library loads. */
  readonly name?: FormatName;
  /** Description, for "got …". */
  readonly what: string;
  /** What to do with it. */
  readonly advice: string;
}

/** The formats that this library loads. */
const known: Readonly<Record<FormatName, Format>> = {
  torch: { name: 'torch', what: 'a torch.save file', advice: 'use torch.load' },
  jit: { name: 'jit', what: 'a TorchScript model', advice: 'use torch.jit.load' },
  package: { name: 'package', what: 'an AOTInductor package', advice: 'use torch.inductor.aotiLoadPackage' },
  npz: { name: 'npz', what: 'an npz file', advice: 'use torch.npz.load' },
  npy: { name: 'npy', what: 'an npy file', advice: 'use torch.npy.load' },
  safetensors: { name: 'safetensors', what: 'a safetensors file', advice: 'use torch.safetensors.load' },
};

/** Bytes inspected: the magic of tar is at byte 257. */
const HEAD = 512;
const MAX_SAFETENSORS_HEADER = 100_000_000;

interface Begins {
  readonly format: Format;
  /** `head`: the first bytes. `size`: of the whole file, Infinity for a stream. */
  test(head: Buffer, size: number): boolean;
}

const bytesAt =
  (at: number, ...bytes: number[]) =>
  (head: Buffer) =>
    head.length >= at + bytes.length && bytes.every((byte, i) => head[at + i] === byte);
const textAt = (at: number, text: string) => bytesAt(at, ...Buffer.from(text, 'latin1'));
const matches = (pattern: RegExp) => (head: Buffer) =>
  pattern.test(head.toString('latin1').replace(/^\xef\xbb\xbf/, ''));

function isSafetensors(head: Buffer, size: number): boolean {
  if (head.length < 9 || head[8] !== 0x7b) return false;
  const length = head.readBigUInt64LE();
  return length <= MAX_SAFETENSORS_HEADER && Number(length) <= size - 8;
}

/** A compressed file; `how` names the compressor. */
const packed = (how: string, advice: string): Format => ({ what: `a file compressed by ${how}`, advice });

const LFS = Buffer.from('version https://git-lfs');
const SAVE_AGAIN = 'load it in Python and save it again with torch.save';

/** Tested in this order, the most specific first. Zip archives are distinguished by their entries. */
const beginnings: readonly Begins[] = [
  { format: known.safetensors, test: isSafetensors },
  { format: known.npy, test: textAt(0, '\x93NUMPY') },
  {
    format: { what: 'a torch.save file in the legacy format (PyTorch before 1.6)', advice: SAVE_AGAIN },
    test: bytesAt(0, 0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e),
  },
  {
    // PyTorch before 0.1.10 wrote a tar of sys_info, pickle, tensors and storages.
    format: { what: 'a tar archive', advice: `unpack it first; if PyTorch before 0.1.10 wrote it, ${SAVE_AGAIN}` },
    test: textAt(257, 'ustar'),
  },
  {
    format: { what: 'a Python pickle', advice: `${SAVE_AGAIN}, or with safetensors` },
    test: (head) => head.length >= 3 && head[0] === 0x80 && head[1]! >= 2 && head[1]! <= 5,
  },
  { format: packed('gzip', 'unpack it first (zlib.gunzipSync)'), test: bytesAt(0, 0x1f, 0x8b) },
  { format: packed('zstd', 'unpack it first'), test: bytesAt(0, 0x28, 0xb5, 0x2f, 0xfd) },
  { format: packed('xz', 'unpack it first'), test: bytesAt(0, 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00) },
  { format: packed('bzip2', 'unpack it first'), test: matches(/^BZh[1-9]1AY&SY/) },
  { format: packed('7-Zip', 'unpack it first'), test: bytesAt(0, 0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c) },
  {
    format: { what: 'a Git LFS pointer', advice: 'fetch the file itself with `git lfs pull`' },
    test: (head) => head.length >= 8 && LFS.subarray(0, head.length).equals(head.subarray(0, LFS.length)),
  },
  {
    format: { what: 'an HTML page', advice: 'the download is a page about the file, or an error page' },
    test: matches(/^\s*<(?:!doc|html)/i),
  },
  {
    format: { what: 'an XML document', advice: 'the download may be an error message' },
    test: matches(/^\s*<\?xml/),
  },
  { format: { what: 'an HDF5 file', advice: 'save its arrays with numpy.savez' }, test: textAt(0, '\x89HDF') },
  { format: { what: 'a GGUF file', advice: 'save its tensors with safetensors' }, test: textAt(0, 'GGUF') },
  {
    format: { what: 'JSON', advice: 'if it is the index of a sharded model, load the files that it lists' },
    test: matches(/^\s*\{\s*"/),
  },
];

const exported: Format = {
  what: 'a torch.export program',
  advice: 'compile it in Python with torch._inductor.aoti_compile_and_package, or save its state_dict',
};
const ancient: Format = {
  what: 'a TorchScript model of PyTorch 1.1 or earlier',
  advice: 'save it again with a later PyTorch',
};
const zip: Format = { what: 'a zip archive of another kind', advice: 'it has no tensors in a supported format' };

/** The format of a zip archive, from the names of its entries. */
function formatOfEntries(names: Iterable<string>): Format {
  let isTorch = false;
  let isScript = false;
  let isPackage = false;
  let isExported = false;
  let onlyArrays: boolean | undefined;
  for (const name of names) {
    isPackage ||= /^(?:[^/]+\/)?data\/aotinductor\//.test(name);
    // Only at the root: a TorchScript archive may have extra files of any name.
    isExported ||= /^(?:[^/]+\/)?(?:serialized_exported_program\.json|models\/[^/]+\.json)$/.test(name);
    const inFolder = /^[^/]+\/([^/]+)$/.exec(name)?.[1];
    if (inFolder === 'model.json') return ancient;
    isTorch ||= inFolder === 'data.pkl';
    isScript ||= inFolder === 'constants.pkl';
    onlyArrays = (onlyArrays ?? true) && name.endsWith('.npy');
  }
  if (isPackage) return known.package;
  if (isScript) return known.jit;
  if (isExported) return exported;
  if (isTorch) return known.torch;
  return onlyArrays === true ? known.npz : zip;
}

const isZip = (head: Buffer) => bytesAt(0, 0x50, 0x4b, 3, 4)(head) || bytesAt(0, 0x50, 0x4b, 5, 6)(head);

/** The names in an archive; undefined for one that is damaged. */
function namesIn(bytes: Bytes): Iterable<string> | undefined {
  try {
    const budget = new Budget('zip', { maxBytes: Number.POSITIVE_INFINITY }, bytes.size, Error);
    return new ZipReader(bytes, Error, budget).entries.keys();
  } catch {
    return undefined; // the loader reports what it expected
  }
}

/** Loaders whose own format is a zip archive. */
const inZip: readonly FormatName[] = ['torch', 'jit', 'package', 'npz'];

interface Wanted {
  readonly format: FormatName;
  readonly fail: (what: string) => Error;
}

const refused = (wanted: Wanted, { what, advice }: Format): Error =>
  wanted.fail(`expected ${known[wanted.format].what}, got ${what}: ${advice}`);

function demandHead(head: Buffer, size: number, wanted: Wanted): void {
  const own = beginnings.find(({ format }) => format.name === wanted.format);
  if (own?.test(head, size)) return;
  const other = beginnings.find(({ test }) => test(head, size));
  if (other !== undefined) throw refused(wanted, other.format);
}

/**
 * Throws `wanted.fail(…)` for a file of a known format other than the expected one. A loader of zip archives also calls
 * `demandEntries` after it has read the directory.
 */
export function demandFormat(bytes: Bytes, wanted: Wanted): void {
  const head = Buffer.from(bytes.read(0, Math.min(HEAD, bytes.size)));
  if (!isZip(head)) demandHead(head, bytes.size, wanted);
  if (!isZip(head) || inZip.includes(wanted.format)) return;
  const names = namesIn(bytes);
  if (names !== undefined) throw refused(wanted, formatOfEntries(names));
}

/** The same for the first bytes of a stream. The directory of an archive is at its end, so its kind is not known yet. */
export function demandBeginning(first: Uint8Array, wanted: Wanted): void {
  const head = Buffer.from(first);
  if (!isZip(head)) demandHead(head, Number.POSITIVE_INFINITY, wanted);
  else if (!inZip.includes(wanted.format)) {
    throw wanted.fail(
      `expected ${known[wanted.format].what}, got a zip archive: use the loadFromStream of torch, or of torch.npz`,
    );
  }
}

/** The same for the entries of an archive. Unknown formats are left to the loader. */
export function demandEntries(names: Iterable<string>, wanted: Wanted): void {
  const format = formatOfEntries(names);
  if (format !== zip && format.name !== wanted.format) throw refused(wanted, format);
}
