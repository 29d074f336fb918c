import * as path from 'node:path';
import type * as Stack from '../../lib/observe/audit/stack';
import { LIB } from '../support/torch';

const { captureStack } = require(path.join(LIB, 'observe/audit/stack.js')) as typeof Stack;

const globalError = Error as { prepareStackTrace?: unknown; stackTraceLimit: number };

function capture(depth = 16) {
  return captureStack(depth, capture);
}

test('the stack begins at the caller, with file, line, column and function', () => {
  function caller() {
    const stack = capture();
    return { frames: stack.frames(), key: stack.key };
  }
  const { frames, key } = caller();
  expect(frames[0]).toMatchObject({ file: __filename, function: 'caller' });
  expect(frames[0]!.line).toBeGreaterThan(0);
  expect(frames[0]!.column).toBeGreaterThan(0);
  expect(Number.isSafeInteger(key)).toBe(true);
});

test('the code of a class field is named by its class', () => {
  class Base {
    frames = capture().frames();
  }
  class Derived extends Base {
    own = capture().frames();
  }
  expect(new Base().frames[0]!.function).toBe('field initialiser of Base');
  const derived = new Derived();
  expect([derived.frames[0]!.function, derived.own[0]!.function]).toEqual([
    'field initialiser of Base',
    'field initialiser of Derived',
  ]);
});

test('equal places have equal keys, different places different ones', () => {
  const keys = [1, 2].map(() => capture().key);
  expect(keys[0]).toBe(keys[1]);
  expect(capture().key).not.toBe(keys[0]);
});

test('at most the requested number of frames', () => {
  const deep = (n: number): number => (n === 0 ? capture(4).frames().length : deep(n - 1));
  expect(deep(30)).toBe(4);
});

test('frames of the library at the top do not count, however many', () => {
  // Node's callbacks in between are omitted at the top, like the library's own frames.
  const through = (n: number): number => {
    if (n > 0) return [n].map(() => Reflect.apply(through, undefined, [n - 1]))[0]!;
    return capture(3).frames().length;
  };
  expect(through(8)).toBe(3);
  const viaNode = new (require('node:events') as typeof import('node:events'))();
  let frames: ReturnType<ReturnType<typeof capture>['frames']> = [];
  viaNode.on('event', function below() {
    frames = captureStack(1, below).frames();
  });
  viaNode.emit('event');
  expect(frames).toEqual([expect.objectContaining({ file: __filename })]);
});

describe('the program’s settings of Error are restored afterwards', () => {
  const limit = globalError.stackTraceLimit;
  const prepare = globalError.prepareStackTrace;
  afterEach(() => {
    globalError.stackTraceLimit = limit;
    globalError.prepareStackTrace = prepare;
  });

  test('if it set them', () => {
    const own = () => 'mine';
    globalError.prepareStackTrace = own;
    globalError.stackTraceLimit = 3;
    capture();
    expect(globalError.prepareStackTrace).toBe(own);
    expect(globalError.stackTraceLimit).toBe(3);
    expect(new Error('x').stack).toBe('mine');
  });

  test('if it did not', () => {
    Reflect.deleteProperty(globalError, 'prepareStackTrace');
    capture();
    expect(Object.hasOwn(globalError, 'prepareStackTrace')).toBe(false);
  });

  test.each(['prepareStackTrace', 'stackTraceLimit'])('if %s has accessors, which are not called', (name) => {
    let calls = 0;
    const count = () => void calls++;
    Object.defineProperty(globalError, name, { configurable: true, get: count, set: count });
    const [frame] = capture().frames();
    Reflect.deleteProperty(globalError, name);
    expect(frame).toMatchObject({ file: __filename });
    expect(calls).toBe(0);
  });

  test('if it forbids changes', () => {
    Object.defineProperty(globalError, 'stackTraceLimit', { value: 7, writable: false, configurable: true });
    expect(() => capture()).not.toThrow();
    expect(globalError.stackTraceLimit).toBe(7);
    Object.defineProperty(globalError, 'stackTraceLimit', { value: limit, writable: true, configurable: true });
  });
});
