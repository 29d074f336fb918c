/**
 * Damaged files for the fuzzer: good files of every format that the library reads, and edits of their bytes that are plain data.
 *
 * An edit is [kind, place, …]; a place is a fraction of the length in millionths, so that edits do not depend on a file's length.
 *   ['set', place, hex]   ['flip', place, mask]   ['cut', place]   ['drop', place, bytes]   ['double', place, bytes]
 *   ['zero', place, bytes]
 * `entry`: the edits are of this entry of an archive, or packet of a capture, whose checksums are then made right, so that what
 * reads it sees the damage.
 */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');

const MILLION = 1_000_000;

/** Numbers that lengths and offsets are not, in hexadecimal, the lowest byte first. */
const WORDS = [
  'ff',
  '00',
  '7f',
  '80',
  'ffff',
  'ffffffff',
  'ffffff7f',
  '00000080',
  'ffffffffffffffff',
  'ffffffffffffff7f',
  '0000000000000080',
  '0000000001000000',
];
/** Opcodes of pickle, in which damage is more than a wrong number. */
const OPCODES = [
  '28',
  '29',
  '2e',
  '30',
  '31',
  '32',
  '4a',
  '58',
  '62',
  '63',
  '64',
  '65',
  '68',
  '6a',
  '71',
  '72',
  '7d',
  '80',
  '81',
  '85',
  '86',
  '87',
  '8a',
  '8b',
  '51',
  '52',
  '74',
  '75',
];

/** The edits of a plan. */
function editsOf({ below, chance, pick }) {
  return Array.from({ length: 1 + below(4) }, () => {
    const place = chance(0.3) ? below(20_000) : chance(0.2) ? MILLION - below(20_000) : below(MILLION);
    switch (below(7)) {
      case 0:
        return ['cut', place];
      case 1:
        return ['drop', place, 1 + below(16)];
      case 2:
        return ['double', place, 1 + below(64)];
      case 3:
        return ['zero', place, 1 + below(64)];
      case 4:
        return ['flip', place, 1 << below(8)];
      default:
        return ['set', place, pick(chance(0.5) ? WORDS : OPCODES)];
    }
  });
}

function edited(bytes, edits) {
  let now = Buffer.from(bytes);
  for (const [kind, place, what] of edits) {
    const at = Math.min(now.length, Math.floor((place * now.length) / MILLION));
    const [before, after] = [now.subarray(0, at), now.subarray(at)];
    if (kind === 'cut') now = before;
    else if (kind === 'drop') now = Buffer.concat([before, after.subarray(what)]);
    else if (kind === 'double') now = Buffer.concat([before, after.subarray(0, what), after]);
    else if (kind === 'zero')
      now = Buffer.concat([before, Buffer.alloc(Math.min(what, after.length)), after.subarray(what)]);
    else if (kind === 'flip') {
      now = Buffer.from(now);
      if (at < now.length) now[at] ^= what;
    } else {
      const word = Buffer.from(what, 'hex');
      now = Buffer.concat([before, word, after.subarray(word.length)]);
    }
  }
  return now;
}

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];

/** The entries of a good archive. */
function entriesOf(archive) {
  const end = archive.lastIndexOf(Buffer.from('504b0506', 'hex'));
  const entries = [];
  for (let i = 0, at = archive.readUInt32LE(end + 16); i < archive.readUInt16LE(end + 10); i++) {
    const [name, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
    const header = archive.readUInt32LE(at + 42);
    const begin = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    const stored = archive.subarray(begin, begin + archive.readUInt32LE(at + 20));
    const data = archive.readUInt16LE(at + 10) === 0 ? stored : zlib.inflateRawSync(stored);
    entries.push({ name: archive.subarray(at + 46, at + 46 + name), data });
    at += 46 + name + extra + comment;
  }
  return entries;
}

/** An archive without compression, with data at multiples of 64, as PyTorch writes it. */
function archiveOf(entries) {
  const parts = [];
  const list = [];
  let length = 0;
  for (const { name, data } of entries) {
    const sum = zlib.crc32(data);
    const padding = (64 - ((length + 30 + name.length + 4) % 64)) % 64;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(LOCAL, 0);
    local.writeUInt32LE(sum, 14);
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(data.length, 22);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(4 + padding, 28);
    const extra = Buffer.alloc(4 + padding, 'Z');
    extra.write('FB', 0);
    extra.writeUInt16LE(padding, 2);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(CENTRAL, 0);
    central.writeUInt32LE(sum, 16);
    central.writeUInt32LE(data.length, 20);
    central.writeUInt32LE(data.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(length, 42);
    list.push(central, name);
    parts.push(local, name, extra, data);
    length += 30 + name.length + 4 + padding + data.length;
  }
  const directory = Buffer.concat(list);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(length, 16);
  return Buffer.concat([...parts, directory, end]);
}

const [SYNC, CAPTURE_HEADER, PACKET_HEADER] = [Buffer.from('4c544e50', 'hex'), 16, 20];

/** A capture after edits of one packet's contents, with the checksums of that packet made right. */
function captureOf(capture, edits, number) {
  const packets = [];
  for (let at = CAPTURE_HEADER; capture.subarray(at, at + 4).equals(SYNC); ) {
    const size = PACKET_HEADER + capture.readUInt32LE(at + 4);
    packets.push(capture.subarray(at, at + size));
    at += size;
  }
  const which = number % packets.length;
  const parts = packets.map((packet, i) => {
    if (i !== which) return packet;
    const payload = edited(packet.subarray(PACKET_HEADER), edits);
    const header = Buffer.from(packet.subarray(0, PACKET_HEADER));
    header.writeUInt32LE(payload.length, 4);
    header.writeUInt32LE(zlib.crc32(header.subarray(0, 12)), 12);
    header.writeUInt32LE(zlib.crc32(payload), 16);
    return Buffer.concat([header, payload]);
  });
  return Buffer.concat([capture.subarray(0, CAPTURE_HEADER), ...parts]);
}

/** The bytes of a damaged file; `good` are those of the format. */
function damagedBytes(good, { damaged: format, edits, entry }) {
  if (entry !== undefined && format === 'capture') return captureOf(good, edits, entry);
  if (entry === undefined) return edited(good, edits);
  const entries = entriesOf(good);
  const at = entry % entries.length;
  return archiveOf(entries.map((one, i) => (i === at ? { ...one, data: edited(one.data, edits) } : one)));
}

/** Good files by format: what the library writes, and the model of good.json. */
function goodFiles(torch) {
  const made = require('./good.json');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-fuzz-good-'));
  const file = path.join(folder, 'file');
  const written = (write) => {
    torch.scope(write);
    return fs.readFileSync(file);
  };
  const tensors = () => ({
    a: torch.ones([3, 2]),
    b: torch.arange(5),
    c: torch.full([2], 1, { dtype: 'complex64' }),
    d: torch.ones([4], { dtype: 'bfloat16' }).narrow(0, 1, 2),
    e: torch.ones([]),
  });
  try {
    return {
      pt: written(() => torch.save({ ...tensors(), list: [1, 'two', null, true, { x: torch.ones([2]) }] }, file)),
      npy: written(() => torch.npy.save(torch.arange(6).view([2, 3]), file)),
      npz: written(() => torch.npz.save({ a: torch.ones([3, 2]), b: torch.arange(5) }, file)),
      safetensors: written(() => torch.safetensors.save(tensors(), file, { metadata: { name: 'value' } })),
      model: Buffer.from(made.model, 'base64'),
    };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Formats with checksums of their parts. */
const SEALED = ['pt', 'npz', 'model', 'capture'];

module.exports = { SEALED, damagedBytes, editsOf, goodFiles };
