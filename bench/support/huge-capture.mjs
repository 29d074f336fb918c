/** Captures of many events, in the format of docs/capture-format.md, like those of a long run. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { inRoot } from '../../scripts/paths.mjs';

const SITES = 200;
const SHAPES = 50;
const ROUNDS = 3600;
const BIRTHS_PER_PACKET = 8192;
/** How many rounds the tensors that die live. */
const LIFE = 5;

/**
 * Writes a capture of an hour: `births` tensors that outlive the round of their birth, of which `surviving` (a share)
 * live at the end. Deaths are events too.
 * @param {string} file @param {{ births: number, surviving: number }} what
 */
export function writeHugeCapture(file, { births, surviving }) {
  const format = createRequire(import.meta.url)(inRoot('dist', 'cli', 'capture', 'format.js'));
  const { PacketType, packet, fileHeader, BIRTH_BYTES, ROW_BYTES, ROUND_BYTES } = format;
  const fd = openSync(file, 'w');
  const put = (bytes) => writeSync(fd, bytes);
  const json = (type, value, head = Buffer.alloc(0)) =>
    put(packet(type, Buffer.concat([head, Buffer.from(JSON.stringify(value))])));
  put(fileHeader(0));
  json(PacketType.Start, {
    ...{ pid: 1, startedAt: 0, mode: 'full', intervalMs: 1000, sampleBytes: 0, depth: 16, command: 'node service.js' },
  });
  for (let id = 1; id <= SITES; id++) {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(id);
    const frame = (file, line) => ({ file: `/srv/app/${file}.js`, line, column: 9, function: `${file}${line}` });
    const stack = [frame('tensors', id), ...Array.from({ length: 7 }, (_, i) => frame(`layer${i}`, id % (2 + 5 * i)))];
    json(PacketType.Site, stack, head);
  }
  for (let id = 1; id <= SHAPES; id++) {
    const shape = Buffer.alloc(12);
    shape.writeUInt32LE(id);
    shape.writeBigInt64LE(BigInt(id), 4);
    put(packet(PacketType.Shape, shape));
  }

  const live = new Float64Array(SITES + 1);
  const made = new Float64Array(SITES + 1);
  const bytesOf = (site) => 4 * (1 + (site % SHAPES));
  const dying = Array.from({ length: LIFE }, () => []);
  let id = 0;
  let alive = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const due = dying[round % LIFE];
    if (due.length > 0) put(packet(PacketType.Deaths, Buffer.from(Uint32Array.from(due).buffer)));
    for (const dead of due) live[1 + (dead % SITES)]--;
    alive -= due.length;
    due.length = 0;
    const until = Math.round((births * round) / ROUNDS);
    while (id < until) {
      const count = Math.min(BIRTHS_PER_PACKET, until - id);
      const payload = Buffer.alloc(count * BIRTH_BYTES);
      for (let i = 0; i < count; i++) {
        const at = i * BIRTH_BYTES;
        const site = 1 + (++id % SITES);
        payload.writeUInt32LE(id, at);
        payload.writeUInt32LE(site, at + 4);
        payload.writeUInt32LE(1 + (site % SHAPES), at + 12);
        payload.writeUInt32LE(round * 1000 - 1 - (id % 900), at + 16);
        payload.writeUInt32LE(bytesOf(site), at + 24);
        payload.writeFloatLE(1, at + 32);
        payload.writeUInt32LE(id, at + 36);
        payload.writeInt8(-1, at + 41);
        payload.writeInt8(6, at + 42);
        live[site]++;
        made[site]++;
        alive++;
        if ((id * surviving) % 1 >= surviving) due.push(id);
      }
      put(packet(PacketType.Births, payload));
    }
    const rows = Buffer.alloc(SITES * ROW_BYTES);
    for (let site = 1; site <= SITES; site++) {
      const at = (site - 1) * ROW_BYTES;
      const figures = [live[site], live[site] * bytesOf(site), made[site], made[site] * bytesOf(site), 1000];
      rows.writeUInt32LE(site, at);
      rows.writeInt8(-1, at + 9);
      for (const [i, value] of figures.entries()) rows.writeBigUInt64LE(BigInt(value), at + 16 + 8 * i);
    }
    put(packet(PacketType.Rows, rows));
    const tick = Buffer.alloc(ROUND_BYTES);
    const bytes = live.reduce((sum, count, site) => sum + count * bytesOf(site), 0);
    const totals = [round * 1000, alive, alive, bytes, bytes, bytes, 3e8, 2e7, 1e6];
    for (const [i, value] of totals.entries()) tick.writeBigUInt64LE(BigInt(value), 8 * i);
    put(packet(PacketType.Tick, tick));
  }
  json(PacketType.End, { reason: 'exit', ms: ROUNDS * 1000, lost: 0 });
  closeSync(fd);
}
