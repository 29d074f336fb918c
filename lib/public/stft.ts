/** torch.stft: the op's frames, centred by padding the signal on both sides. */

import { composed, define } from '../call/define';
import type { Tensor } from '../tensor/tensor';
import { aten, nn } from './ops';

function stft(
  input: Tensor,
  nFft: number,
  hopLength: number | null,
  winLength: number | null,
  window: Tensor | null,
  center: boolean,
  padMode: string,
  normalized: boolean,
  onesided: boolean | null,
  returnComplex: boolean | null,
): Tensor {
  const half = Math.trunc(Number(nFft) / 2); // it may be a bigint
  const signal = center ? padded(input, half, padMode) : input;
  return aten.stft!(signal, nFft, hopLength, winLength, window, normalized, onesided, returnComplex);
}

/** Padding modes require three dimensions. */
function padded(input: Tensor, pad: number, mode: string): Tensor {
  const { shape } = input;
  const wide = input.view([...new Array<number>(Math.max(0, 3 - shape.length)).fill(1), ...shape]);
  const longer = nn.pad!(wide, [pad, pad], mode) as Tensor;
  return longer.view(longer.shape.slice(longer.ndim - shape.length));
}

define(['', 'Tensor'], { stft: composed(stft) });
