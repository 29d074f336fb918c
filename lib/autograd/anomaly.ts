/** Anomaly detection: a backward that fails or gives NaN names the line of the forward call. */

import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError, type TorchError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { frameText } from '../observe/audit/positions';
import { captureStack } from '../observe/audit/stack';
import { refuseAwaiting } from '../tensor/promises';

export interface AnomalyOptions {
  /** Whether a gradient with NaN in it is an error. Default: true. */
  checkNan?: boolean;
}

declare module '../addon/interface' {
  interface Native {
    /**
     * `of` returns the place of a node, `held` keeps native code's reference to `of`; null while detection is off, undefined if
     * it was never on. One for all copies of the library: native code keeps the function, and with it the globals of its copy.
     */
    placeOfNodes?: { readonly of: () => string; readonly held: unknown } | null;
  }
}

/** The first frame of the program. Source maps are applied later, when the text is needed. */
function placeNow(): string {
  const [frame] = captureStack(1, placeNow).frames();
  return frame === undefined ? '' : JSON.stringify(frame);
}

function switchTo(enabled: boolean, checkNan: boolean): void {
  if (!enabled) native.placeOfNodes = null;
  else if (native.placeOfNodes?.of !== placeNow)
    native.placeOfNodes = { of: placeNow, held: native.anomalyPlace(placeNow) };
  native.anomalySet(enabled, checkNan);
}

function checkNanOf(fn: string, options: AnomalyOptions): boolean {
  const { checkNan = true } = ownOptions(fn, options, ['checkNan']);
  if (typeof checkNan !== 'boolean') throw argumentError(fn, 'checkNan', 'a boolean', checkNan);
  return checkNan;
}

/**
 * Switches anomaly detection on or off for the process: errors in a backward then name the line of the forward call, and
 * NaN in a gradient is an error. Every op that is recorded for a backward takes some microseconds longer.
 */
export function setDetectAnomaly(enabled: boolean, options: AnomalyOptions = {}): void {
  const checkNan = checkNanOf('autograd.setDetectAnomaly', options);
  if (typeof enabled !== 'boolean') throw argumentError('autograd.setDetectAnomaly', 'enabled', 'a boolean', enabled);
  switchTo(enabled, checkNan);
}

/** Runs `fn` with anomaly detection on. */
export function detectAnomaly<T>(fn: () => T, options: AnomalyOptions = {}): T {
  if (typeof fn !== 'function') throw argumentError('autograd.detectAnomaly', 'fn', 'a function', fn);
  const checkNan = checkNanOf('autograd.detectAnomaly', options);
  const [enabled, checks] = [native.anomalyEnabled(), native.anomalyChecksNan()];
  const undo = () => switchTo(enabled, checks);
  const result = restoring(undo, () => {
    switchTo(true, checkNan);
    return fn();
  });
  refuseAwaiting('autograd.detectAnomaly', result);
  return result;
}

/** Whether anomaly detection is on. */
export const isAnomalyEnabled = (): boolean => native.anomalyEnabled();
/** Whether NaN in a gradient is an error while it is on. */
export const isAnomalyCheckNanEnabled = (): boolean => native.anomalyChecksNan();

/** The ops that run a backward. */
const ENGINE = ['autograd.grad', 'autograd.backward', 'aten::_backward'];

function placeText(text: string): string {
  if (text === '') return 'at an unknown line: anomaly detection was off, or the op ran on another thread';
  return `at ${frameText(JSON.parse(text))}`;
}

/** Errors of hooks pass unchanged. Checked by properties: native errors belong to the realm that loaded the addon. */
const isOfEngine = (error: unknown): error is TorchError =>
  typeof error === 'object' &&
  error !== null &&
  ENGINE.includes((error as TorchError).op as string) &&
  String((error as TorchError).code).startsWith('ERR_TORCH_');

function addPlaces(error: TorchError, made: readonly string[]): void {
  const lines = [`forward call of ${made[0]}: ${placeText(made[1]!)}`];
  for (let i = 2; i < made.length; i += 2) {
    lines.push(`created in the backward of ${made[i]}, whose forward call was ${placeText(made[i + 1]!)}`);
  }
  const { message, stack } = error;
  error.message = `${message}\n  ${lines.join('\n  ')}`;
  if (typeof stack === 'string') error.stack = stack.replace(message, () => error.message);
}

/** Backwards in progress on this thread: a hook may run another one. */
let depth = 0;

/** Whether code runs in the middle of a backward, in a hook. */
export const isEngineRunning = (): boolean => depth > 0;

/** Runs a backward. Adds the lines of the forward calls to libtorch's errors. */
export function runEngine<T>(fn: () => T): T {
  const before = depth;
  const grad = native.gradEnabled();
  // A hook runs in the engine's gradient mode. If it is cut off, that is the mode that its own states restore, after the engine
  // has ended; so this one is restored last.
  const undo = () => {
    depth = before;
    native.setGradEnabled(grad);
  };
  return restoring(undo, () => {
    depth++;
    return withPlaces(fn);
  });
}

function withPlaces<T>(fn: () => T): T {
  if (native.placeOfNodes === undefined) return fn();
  native.anomalyTake(); // discards an earlier record
  try {
    return fn();
  } catch (error) {
    const made = native.anomalyTake();
    if (made.length > 0 && isOfEngine(error)) addPlaces(error, made);
    throw error;
  }
}
