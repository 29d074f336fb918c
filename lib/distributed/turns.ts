/**
 * Values are sent as two messages, their length and their bytes. Calls with one rank and tag take turns, so that the messages of one do
 * not come between those of another.
 */
import { distributedError } from './library';
import { abortable, type Call } from './work';

/** The calls for one rank and tag that have not ended. */
interface Line {
  ended: Promise<unknown>;
  /** A length that nobody waits for any more will be dropped, and the bytes behind it would be taken for the next length. */
  isBroken: boolean;
}

const lines = new WeakMap<Call['group'], Map<string, Line>>();

function lineOf(group: Call['group'], key: string): Line {
  const all = lines.get(group) ?? new Map<string, Line>();
  lines.set(group, all);
  const line = all.get(key) ?? { ended: Promise.resolve(), isBroken: false };
  all.set(key, line);
  return line;
}

/**
 * Calls `first` when the calls before with this key have ended, and `second` with its result. Aborting the call withdraws the first
 * message, after which a `recv` is not possible any more with this key. The second one is on its way then: it is moved anyway.
 */
export function inTurn<A, B>(
  call: Call,
  key: { kind: 'send' | 'recv'; root: number; tag: number },
  first: (call: Call) => Promise<A>,
  second: (call: Call, length: A) => Promise<B>,
): Promise<B> {
  const { kind, root, tag } = key;
  const line = lineOf(call.group, `${kind} ${root} ${tag}`);
  const before = line.ended;
  const both = async (): Promise<B> => {
    await before;
    if (call.signal?.aborted) throw call.signal.reason;
    if (line.isBroken) {
      const text = `a call for rank ${root} and tag ${tag} was aborted, and its value is dropped in part when it comes: use another tag`;
      throw distributedError(call.fn, text);
    }
    let length: A;
    try {
      length = await first(call);
    } catch (error) {
      line.isBroken = kind === 'recv' && call.signal?.aborted === true;
      throw error;
    }
    return second({ ...call, signal: undefined }, length);
  };
  const result = both();
  line.ended = result.catch(() => {}); // reported by `result`
  return abortable(call, result);
}
