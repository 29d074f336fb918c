/** Checked by `npm run typecheck`, never run: the matcher with Jest's imported `expect` and with the global one. */
import { expect as imported } from '@jest/globals';
import '../../lib/testing/jest';
import torch from '../../types';

const make = () => torch.ones([2]);
imported(make).not.toLeakTensors({ iterations: 5 }) satisfies Promise<void>;
expect(make).not.toLeakTensors({ iterations: 5 }) satisfies Promise<void>;
// @ts-expect-error: no such option
imported(make).not.toLeakTensors({ rounds: 5 });
