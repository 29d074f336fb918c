/** torch/nn/functional.py: activations. */

import { composed, define, type Implementation } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { warn } from '../support';

/** An op or its in-place form, selected by the last argument. */
function inplaceForms(name: string, parameters: number): Implementation {
  const op = nn[name] ?? aten[name]!;
  const inplaceOp = nn[`${name}_`] ?? aten[`${name}_`]!;
  const either = (...args: unknown[]) => (args[parameters] ? inplaceOp : op)(...args.slice(0, parameters));
  return Object.defineProperty(either, 'length', { value: parameters + 1 });
}

/** The default dimension. */
function softmaxDim(name: string, input: Tensor): number {
  warn(
    `Implicit dimension choice for ${name} has been deprecated. Change the call to include a dimension as an argument.`,
  );
  return [0, 1, 3].includes(input.ndim) ? 0 : 1;
}

const softmaxForms =
  (name: string) =>
  (input: Tensor, dim: number | null, _stacklevel: number, dtype: string | null): Tensor =>
    aten[name]!(input, dim ?? softmaxDim(name, input), dtype);

function gumbelSoftmax(logits: Tensor, tau: number, hard: boolean, eps: number, dim: number): Tensor {
  if (eps !== 1e-10) warn('gumbelSoftmax: `eps` parameter is deprecated and has no effect.');
  const gumbels = (aten.emptyLike!(logits, { memoryFormat: 'contiguous' }) as Tensor).exponential_().log().neg();
  const soft = logits.add(gumbels).div(tau).softmax(dim);
  if (!hard) return soft;
  const index = soft.max(dim, true)[1];
  const choice = (aten.zerosLike!(logits, { memoryFormat: 'contiguous' }) as Tensor).scatter_(dim, index, 1);
  return choice.sub(soft.detach()).add(soft);
}

define(['nn.functional'], {
  celu: inplaceForms('celu', 2),
  elu: inplaceForms('elu', 2),
  hardsigmoid: inplaceForms('hardsigmoid', 1),
  hardswish: inplaceForms('hardswish', 1),
  hardtanh: inplaceForms('hardtanh', 3),
  leakyRelu: inplaceForms('leakyRelu', 2),
  mish: inplaceForms('mish', 1),
  relu: inplaceForms('relu', 1),
  relu6: inplaceForms('relu6', 1),
  rrelu: inplaceForms('rrelu', 4),
  selu: inplaceForms('selu', 1),
  silu: inplaceForms('silu', 1),
  threshold: inplaceForms('threshold', 3),
  softmax: softmaxForms('softmax'),
  logSoftmax: softmaxForms('logSoftmax'),
  gumbelSoftmax: composed(gumbelSoftmax),
  softmin: composed((input: Tensor, dim: number | null, _stacklevel: number, dtype: string | null) =>
    aten.softmax!(input.neg(), dim ?? softmaxDim('softmin', input), dtype),
  ),
  softsign: composed((input: Tensor) => input.div(input.abs().add(1))),
  tanhshrink: composed((input: Tensor) => input.sub(input.tanh())),
});
