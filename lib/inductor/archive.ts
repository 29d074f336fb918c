/**
 * Checks a .pt2 package and unpacks it to a folder. The whole archive is examined first: its structure, the CRC-32 of every
 * entry, the parts of an AOTInductor model, and whether its library fits this process. The library's code is not checked.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { libtorchNames } from '../addon/native';
import { demandEntries } from '../files/formats';
import { Budget } from '../files/limits';
import { quote } from '../files/names';
import { openStrictly } from '../files/strict-zip';
import type { Bytes, ZipEntry, ZipReader } from '../files/zip';
import { ElfError, readElf } from '../libtorch/elf';
import { type InputForm, inputsOf } from './inputs';

type Fail = (what: string) => Error;

export interface Package {
  /** PyTorch's metadata: the target device, and entries that the exporting program added. */
  readonly metadata: Record<string, string>;
  /** 'cpu' or 'cuda', from the metadata. */
  readonly device: string;
  /** The inputs that it was compiled for, as far as its source shows them. */
  readonly inputs: ReadonlyMap<number, InputForm>;
  /** Size of the library, plus the weights if they are a separate file. */
  readonly bytes: number;
  /** Writes the model's files to a folder. Returns the paths of the library and of the weights, or "". */
  unpack(folder: string): { library: string; weights: string };
}

/** Older packages have no enclosing folder. */
const MODEL = /^(?:[^/]+\/)?data\/aotinductor\/([^/]+)\/(.+)$/;
const CONSTANT = /^(?:[^/]+\/)?data\/constants\/(?:.*\/)?([^/]+)$/;
/** Sources and object files, which are not needed to load the model. */
const SOURCE = /\.(?:cpp|h|o)$/;
const METADATA = '_metadata.json';
const MAX_METADATA = 2 ** 20;
const MAX_SOURCE = 2 ** 26;
/** A symbol that exactly the libraries of AOTInductor have. */
const ENTRY_POINT = 'AOTInductorModelContainerCreateWithDevice';

/** Throws `fail(…)` for the first problem. */
export function examinePackage(bytes: Bytes, modelName: string, fail: Fail, maxBytes?: number): Package {
  const zip = openStrictly(bytes, fail, new Budget('inductor.aotiLoadPackage', { maxBytes }, bytes.size, fail));
  demandEntries(zip.entries.keys(), { format: 'package', fail });
  for (const entry of zip.entries.values()) {
    if (entry.deflated) zip.data(entry);
    else zip.check(entry);
  }
  const files = filesOf(zip, modelName, fail);
  const library = only(files, '.so', fail);
  if (library === undefined) {
    const isSource = [...files.keys()].some((name) => SOURCE.test(name));
    throw fail(isSource ? 'it has source code instead of a library (package_cpp_only)' : 'it has no library');
  }
  const metadata = metadataOf(zip, files, library, fail);
  const device = metadata.AOTI_DEVICE_KEY;
  if (device === undefined || !/^[a-z]+$/.test(device)) throw fail('its metadata does not name a device');
  demandProcessor(metadata, fail);
  const weights = only(files, '.blob', fail);
  if ([...files.keys()].some((name) => name.endsWith('weights_config.json'))) {
    throw fail('its weights are not in its library (package_constants_in_so: False)');
  }
  const size = (name: string | undefined) => (name === undefined ? 0 : files.get(name)!.size);
  return {
    metadata,
    device,
    inputs: inputsOf(wrapperOf(zip, files, library)),
    bytes: size(library) + size(weights),
    unpack(folder) {
      const place = (name: string) => path.join(folder, name);
      for (const [name, entry] of files) {
        if (!SOURCE.test(name)) write(zip, entry, place(name));
      }
      demandLibrary(place(library), library, fail);
      return { library: place(library), weights: weights === undefined ? '' : place(weights) };
    },
  };
}

/** The files of the model, including constants, by their names in one folder. */
function filesOf(zip: ZipReader, modelName: string, fail: Fail): Map<string, ZipEntry> {
  const files = new Map<string, ZipEntry>();
  const constants = new Map<string, ZipEntry>();
  const models = new Set<string>();
  for (const entry of zip.entries.values()) {
    const [, model, name] = MODEL.exec(entry.name) ?? [];
    if (model !== undefined) models.add(model);
    if (model === modelName) files.set(safe(name!, fail), entry);
    const constant = CONSTANT.exec(entry.name)?.[1];
    if (constant !== undefined) constants.set(safe(constant, fail), entry);
  }
  if (models.size === 0) {
    throw fail('not an AOTInductor package: it has no model compiled by torch._inductor.aoti_compile_and_package');
  }
  if (files.size === 0)
    throw fail(`expected a model named ${quote(modelName)}, got ${[...models].map(quote).join(', ')}`);
  return new Map([...constants, ...files]);
}

/** Validates a relative path that stays in its folder. */
function safe(name: string, fail: Fail): string {
  const parts = name.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..') || /[\\\0]/.test(name)) {
    throw fail(`${quote(name)}: invalid file name`);
  }
  return name;
}

/** The only name with that ending; undefined if there is none. */
function only(files: ReadonlyMap<string, ZipEntry>, ending: string, fail: Fail): string | undefined {
  const found = [...files.keys()].filter((name) => name.endsWith(ending));
  if (found.length > 1) throw fail(`expected one *${ending} file, got ${found.map(quote).join(', ')}`);
  return found[0];
}

function metadataOf(
  zip: ZipReader,
  files: ReadonlyMap<string, ZipEntry>,
  library: string,
  fail: Fail,
): Record<string, string> {
  const name = library.replace(/\.so$/, METADATA); // other metadata belongs to separately compiled parts
  if (!files.has(name)) throw fail('its metadata is missing');
  const entry = files.get(name)!;
  if (entry.size > MAX_METADATA) throw fail(`${quote(name)}: larger than ${MAX_METADATA} bytes`);
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(zip.data(entry)).toString('utf8'));
  } catch {
    throw fail(`${quote(name)}: not JSON`);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw fail(`${quote(name)}: not an object`);
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(read)) {
    if (typeof value !== 'string') throw fail(`${quote(name)}: the value of ${quote(key)} is not a string`);
    metadata[key] = value;
  }
  return metadata;
}

/** The source of the wrapper that calls the kernels; it has the library's name. "" if missing. */
function wrapperOf(zip: ZipReader, files: ReadonlyMap<string, ZipEntry>, library: string): string {
  const entry = files.get(library.replace(/\.so$/, '.cpp'));
  return entry === undefined || entry.size > MAX_SOURCE ? '' : Buffer.from(zip.data(entry)).toString('utf8');
}

/** Instruction sets in the metadata, and their names in /proc/cpuinfo. A missing instruction would end the process. */
const EXTENSIONS = [
  ['AVX512', 'avx512f'],
  ['AVX2', 'avx2'],
  ['AMX', 'amx_tile'],
] as const;

function demandProcessor(metadata: Record<string, string>, fail: Fail): void {
  const wanted = metadata.AOTI_CPU_ISA?.toUpperCase();
  if (wanted === undefined || process.platform !== 'linux' || process.arch !== 'x64') return;
  const flags = /^flags\s*:(.*)$/m.exec(processorText())?.[1]?.split(' ');
  if (flags === undefined) return;
  for (const [name, flag] of EXTENSIONS) {
    if (wanted.includes(name) && !flags.includes(flag)) {
      throw fail(`it was compiled for ${name}, but this CPU lacks ${name}`);
    }
  }
}

function processorText(): string {
  try {
    return fs.readFileSync('/proc/cpuinfo', 'latin1');
  } catch {
    return ''; // not readable: skip the check
  }
}

function write(zip: ZipReader, entry: ZipEntry, file: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
  const descriptor = fs.openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const put = (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(descriptor, bytes, at);
    };
    // The CRC-32 is checked again while writing: the file may have been replaced.
    if (entry.deflated) put(zip.data(entry));
    else zip.check(entry, put);
  } finally {
    fs.closeSync(descriptor);
  }
}

function demandLibrary(file: string, name: string, fail: Fail): void {
  if (process.platform !== 'linux') return;
  try {
    const { needed, strings } = readElf(file);
    if (!strings().includes(`\0${ENTRY_POINT}\0`)) throw fail(`${quote(name)}: not an AOTInductor library`);
    // The loader would load it too, and the symbols of two libtorchs in one process get mixed up.
    const others = needed.filter((wanted) => /^lib(torch|c10)/.test(wanted) && !libtorchNames.includes(wanted));
    if (others.length === 0) return;
    throw fail(
      `it was compiled for another libtorch: ${others.join(', ')}; this process has ${libtorchNames.join(', ')}`,
    );
  } catch (error) {
    if (error instanceof ElfError) throw fail(`${quote(name)} ${error.problem}`);
    throw error;
  }
}
