/** Anomaly detection: a backward that fails, or gives NaN, says which line made the call that it is of. */

import { frameText } from '../audit/positions';
import { captureStack } from '../audit/stack';
import { argumentError } from '../errors';
import { native } from '../native';
import { ownOptions } from '../options';
import { refusePromise } from '../promises';
import { restoring } from '../turn';

export interface AnomalyOptions {
  /** Whether a gradient with NaN in it is an error. Default: true. */
  checkNan?: boolean;
}

/** What native code asks for the place of a node. Undefined until detection is first on. */
let place: unknown;

/** The first frame of the program, as it is: source maps are asked when somebody wants to read it. */
function placeNow(): string {
  const [frame] = captureStack(1, placeNow).frames();
  return frame === undefined ? '' : JSON.stringify(frame);
}

function switchTo(enabled: boolean, checkNan: boolean): void {
  if (enabled) place ??= native.anomalyPlace(placeNow);
  native.anomalySet(enabled, checkNan);
}

function checkNanOf(fn: string, options: AnomalyOptions): boolean {
  const { checkNan = true } = ownOptions(fn, options, ['checkNan']);
  if (typeof checkNan !== 'boolean') throw argumentError(fn, 'checkNan', 'a boolean', checkNan);
  return checkNan;
}

/**
 * Switches anomaly detection on or off, for the process: an error in a backward then names the line of the forward call, and
 * NaN in a gradient is an error. Every op that is recorded for a backward costs some microseconds more.
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
  const undo = () => native.anomalySet(enabled, checks);
  const result = restoring(undo, () => {
    switchTo(true, checkNan);
    return fn();
  });
  refusePromise('autograd.detectAnomaly', result);
  return result;
}

/** Whether anomaly detection is on. */
export const isAnomalyEnabled = (): boolean => native.anomalyEnabled();
/** Whether NaN in a gradient is an error while it is on. */
export const isAnomalyCheckNanEnabled = (): boolean => native.anomalyChecksNan();

/** The ops that run a backward. */
const ENGINE = ['autograd.grad', 'autograd.backward', 'aten::_backward'];

function placeText(text: string): string {
  if (text === '') return 'at a line that is not known: anomaly detection was off, or the op ran on another thread';
  return `at ${frameText(JSON.parse(text))}`;
}

/** Runs a backward. What libtorch found wrong in it is said with the lines of the forward calls. */
export function runEngine<T>(fn: () => T): T {
  if (place === undefined) return fn();
  native.anomalyTake(); // of one that nobody asked for
  try {
    return fn();
  } catch (error) {
    const made = native.anomalyTake();
    // Not what a hook threw, which goes on as it is.
    const { op, message } = error as { op?: unknown; message?: unknown };
    if (made.length > 0 && error instanceof Error && ENGINE.includes(op as string)) {
      const lines = [`forward call of ${made[0]}: ${placeText(made[1]!)}`];
      for (let i = 2; i < made.length; i += 2) {
        lines.push(`made in the backward of ${made[i]}, whose forward call was ${placeText(made[i + 1]!)}`);
      }
      error.message = `${message}\n  ${lines.join('\n  ')}`;
      if (typeof error.stack === 'string') error.stack = error.stack.replace(String(message), () => error.message);
    }
    throw error;
  }
}
