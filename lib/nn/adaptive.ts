/** The adaptive softmax for many classes of very different frequency. */

import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, intList, nameOf, read } from './arguments';
import { ModuleList, Sequential } from './containers';
import { takesInputs } from './hooks';
import { demandTensor } from './inputs';
import { type FactoryArgs, Linear } from './linear';
import { Module } from './module';
import { aten } from './ops';

const spec = {
  inFeatures: int(),
  nClasses: int(),
  cutoffs: intList(),
  divValue: float(4),
  headBias: flag(false),
  ...factory,
};
const AT = nameOf('AdaptiveLogSoftmaxWithLoss');

/** The log probability of each target, and the loss. */
export type AdaptiveResult = [output: Tensor, loss: Tensor] & { readonly output: Tensor; readonly loss: Tensor };

export class AdaptiveLogSoftmaxWithLoss extends Module {
  inFeatures: number;
  nClasses: number;
  cutoffs: number[];
  divValue: number;
  headBias: boolean;
  shortlistSize: number;
  nClusters: number;
  headSize: number;
  head: Linear;
  tail: ModuleList;

  constructor(
    ...passed: Args<
      [inFeatures: number, nClasses: number, cutoffs: number[], divValue?: number, headBias?: boolean, ...FactoryArgs],
      typeof spec
    >
  ) {
    super();
    const given = read('AdaptiveLogSoftmaxWithLoss', spec, passed);
    const { inFeatures, nClasses, cutoffs, divValue, headBias, device, dtype } = given;
    const rises = cutoffs.every((cut, i) => cut > (cutoffs[i - 1] ?? 0) && cut < nClasses);
    if (cutoffs.length === 0 || !rises) {
      throw argumentError(AT, 'cutoffs', `increasing integers from 1 to ${nClasses - 1}`, cutoffs);
    }
    this.inFeatures = inFeatures;
    this.nClasses = nClasses;
    this.cutoffs = [...cutoffs, nClasses];
    this.divValue = divValue;
    this.headBias = headBias;
    this.shortlistSize = this.cutoffs[0]!;
    this.nClusters = cutoffs.length;
    this.headSize = this.shortlistSize + this.nClusters;
    this.head = new Linear(inFeatures, this.headSize, { bias: headBias, device, dtype });
    this.tail = new ModuleList();
    for (let i = 0; i < this.nClusters; i++) {
      const size = Math.floor(inFeatures / divValue ** (i + 1));
      const out = this.cutoffs[i + 1]! - this.cutoffs[i]!;
      const options = { bias: false, device, dtype };
      this.tail.append(new Sequential(new Linear(inFeatures, size, options), new Linear(size, out, options)));
    }
  }

  resetParameters(): void {
    this.head.resetParameters();
    for (const cluster of this.tail as Iterable<Sequential>) {
      for (const projection of cluster as Iterable<Linear>) projection.resetParameters();
    }
  }

  override forward(input: Tensor, target: Tensor): AdaptiveResult {
    demandTensor(this, 'input', input);
    demandTensor(this, 'target', target);
    if (target.ndim > 1) throw argumentError(`${AT}.forward`, 'target', 'a Tensor of 0 or 1 dimensions', target);
    if (input.ndim !== target.ndim + 1 || (target.ndim === 1 && input.shape[0] !== target.shape[0])) {
      throw argumentError(`${AT}.forward`, 'input', 'a row for each target', input);
    }
    const [output, loss] = ownScope((): [Tensor, Tensor] => {
      if (target.ndim === 1) return this._result(input, target);
      const [one, mean] = this._result(input.unsqueeze(0) as Tensor, target.unsqueeze(0) as Tensor);
      return [one.squeeze(0) as Tensor, mean];
    });
    return Object.assign([output, loss], { output, loss }) as unknown as AdaptiveResult;
  }

  private _result(input: Tensor, target: Tensor): [Tensor, Tensor] {
    const batch = target.shape[0]!;
    const output = input.newZeros([batch]) as Tensor;
    const gathered = target.newEmpty([batch]) as Tensor;
    const cuts = [0, ...this.cutoffs];
    let used = 0;
    for (let i = 0; i + 1 < cuts.length; i++) {
      const mask = target.ge(cuts[i]!).logicalAnd(target.lt(cuts[i + 1]!)) as Tensor;
      const rows = mask.nonzero().squeeze() as Tensor;
      if (rows.numel === 0) continue;
      if (i === 0) gathered.indexCopy_(0, rows, target.at(mask) as Tensor);
      else {
        const relative = (target.at(mask) as Tensor).sub(cuts[i]!) as Tensor;
        const cluster = this.tail.at(i - 1)!.forward(input.indexSelect(0, rows));
        gathered.indexFill_(0, rows, this.shortlistSize + i - 1);
        const local = aten.logSoftmax(cluster, 1).gather(1, relative.unsqueeze(1));
        output.indexCopy_(0, rows, local.squeeze(1));
      }
      used += rows.numel;
    }
    if (used !== batch) {
      throw argumentError(`${AT}.forward`, 'target', `classes from 0 to ${this.nClasses - 1}`, target);
    }
    const head = aten.logSoftmax(this.head.forward(input), 1) as Tensor;
    const all = output.add_(head.gather(1, gathered.unsqueeze(1) as Tensor).squeeze() as Tensor) as Tensor;
    return [all, all.neg().mean() as Tensor];
  }

  private _allLogProb(input: Tensor, head: Tensor): Tensor {
    const logs = aten.logSoftmax(head, 1) as Tensor;
    const parts = [logs.slice(1, 0, this.shortlistSize) as Tensor];
    for (let i = 0; i < this.nClusters; i++) {
      const cluster = aten.logSoftmax(this.tail.at(i)!.forward(input), 1) as Tensor;
      parts.push(cluster.add(logs.select(1, this.shortlistSize + i).unsqueeze(1)) as Tensor);
    }
    return aten.cat(parts, 1) as Tensor;
  }

  /** The log probability of each class. */
  logProb(input: Tensor): Tensor {
    return ownScope(() => this._allLogProb(input, this.head.forward(input)));
  }

  /** The class of the highest probability for each row. */
  predict(input: Tensor): Tensor {
    return ownScope(() => this.logProb(input).argmax(1) as Tensor);
  }
}

takesInputs(AdaptiveLogSoftmaxWithLoss);
