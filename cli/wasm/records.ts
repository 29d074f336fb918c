/** The lines of the file that the program writes for `run --wasm`. Times are ms of the machine's monotonic clock. */
import type { Frame } from '../capture/records';

/** The content of the variable LIBTORCH_NODE_WASM. */
export interface WasmSettings {
  file: string;
  intervalMs: number;
}

interface Origin {
  pid: number;
  thread: number;
  ms: number;
}

export type WasmRecord =
  | (Origin & { type: 'memory'; id: number; bytes: number; shared: boolean; stack: Frame[] })
  /** The sizes that changed; -1: the memory was collected. `collected`: right after a full collection. */
  | (Origin & { type: 'round'; sizes: [id: number, bytes: number][]; collected?: true })
  | (Origin & { type: 'exit' });

/** A larger file is read only up to this size. */
export const MAX_RECORD_BYTES = 256 * 2 ** 20;

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isPair = (value: unknown) => Array.isArray(value) && value.length === 2 && value.every(isNumber);
const isFrame = (value: unknown) => {
  const { file, line, column, function: name } = (value ?? {}) as Partial<Frame>;
  return typeof file === 'string' && isNumber(line) && isNumber(column) && typeof name === 'string';
};

/** The records in a text, in the order of time. Skips what is incomplete: the program may have been killed, and is not trusted. */
export function parseRecords(text: string): WasmRecord[] {
  const records: WasmRecord[] = [];
  for (const line of text.split('\n')) {
    const record = parsed(line);
    if (record !== undefined) records.push(record);
  }
  return records.sort((a, b) => a.ms - b.ms);
}

function parsed(line: string): WasmRecord | undefined {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined; // cut off
  }
  if (typeof value !== 'object' || value === null || ![value.pid, value.thread, value.ms].every(isNumber))
    return undefined;
  const fits =
    value.type === 'exit' ||
    (value.type === 'round' && Array.isArray(value.sizes) && value.sizes.every(isPair)) ||
    (value.type === 'memory' &&
      isNumber(value.id) &&
      isNumber(value.bytes) &&
      Array.isArray(value.stack) &&
      value.stack.every(isFrame));
  return fits ? (value as unknown as WasmRecord) : undefined;
}
