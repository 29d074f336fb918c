/** Embeddings. */

import type { DType } from '../../types/base';
import { argumentError } from '../errors/errors';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, kind, nameOf, orNull, read, tensor, text } from './arguments';
import { takesInputs } from './hooks';
import { normal_ } from './init';
import { type Further, forwardOf, further } from './inputs';
import { parameter } from './layer';
import type { FactoryArgs } from './linear';
import { Module } from './module';
import { F } from './ops';
import { Parameter } from './parameter';
import { pythonFloat, pythonText } from './python';
import { quotesMode } from './release';

interface Shared {
  numEmbeddings: number;
  embeddingDim: number;
  maxNorm: number | null;
  normType: number;
  scaleGradByFreq: boolean;
  paddingIdx: number | null;
}

/** The weight: given, or drawn, with zeros for the padding. */
function weightOf(
  name: string,
  given: Shared & Parameters<typeof parameter>[1] & { _weight: Tensor | null },
): Parameter {
  const { numEmbeddings: rows, embeddingDim: columns, _weight: weight } = given;
  if (weight === null) return drawn(parameter([rows, columns], given), given.paddingIdx);
  if (weight.ndim !== 2 || weight.shape[0] !== rows || weight.shape[1] !== columns) {
    throw argumentError(nameOf(name), '_weight', `a Tensor of shape [${rows}, ${columns}]`, weight);
  }
  return new Parameter(weight); // not the parameter itself, which `freeze` would freeze for all of its users
}

function drawn(weight: Parameter, padding: number | null): Parameter {
  normal_(weight);
  if (padding !== null) zeroRow(weight, padding);
  return weight;
}

function zeroRow(weight: Tensor, row: number): void {
  const plain = weight.detach() as Tensor;
  const view = plain.select(0, row) as Tensor;
  view.fill_(0);
  view.dispose();
  plain.dispose();
}

/** The padding's row as a position from the start. */
function paddingOf(name: string, padding: number | null, rows: number): number | null {
  if (padding === null) return null;
  if (padding < -rows || padding >= rows) {
    throw argumentError(nameOf(name), 'paddingIdx', `an index from ${-rows} to ${rows - 1}`, padding);
  }
  return padding < 0 ? rows + padding : padding;
}

function sizeText({ numEmbeddings, embeddingDim, maxNorm, normType, scaleGradByFreq }: Shared, middle: string): string {
  const max = maxNorm === null ? '' : `, max_norm=${pythonFloat(maxNorm)}`;
  const type = normType === 2 ? '' : `, norm_type=${pythonFloat(normType)}`;
  const scales = scaleGradByFreq ? ', scale_grad_by_freq=True' : '';
  return `${numEmbeddings}, ${embeddingDim}${middle}${max}${type}${scales}`;
}

const embedding = {
  numEmbeddings: int(),
  embeddingDim: int(),
  paddingIdx: orNull(int()),
  maxNorm: orNull(float()),
  normType: float(2),
  scaleGradByFreq: flag(false),
  sparse: flag(false),
  _weight: tensor,
  ...factory,
};

const { paddingIdx, maxNorm, normType, scaleGradByFreq, sparse } = embedding;
const embeddings = kind<Tensor>(
  'a Tensor of 2 dimensions',
  undefined,
  (value) => (isTensor(value) && value.ndim === 2 ? bare(value) : undefined),
  () => '',
);
const pretrained = { embeddings, freeze: flag(true), paddingIdx, maxNorm, normType, scaleGradByFreq, sparse };
type PretrainedArgs = [
  embeddings: Tensor,
  freeze?: boolean,
  paddingIdx?: number | null,
  maxNorm?: number | null,
  normType?: number,
  scaleGradByFreq?: boolean,
  sparse?: boolean,
];

/** A module whose rows are those of a table. */
function withRows<T extends { weight: Parameter }>(
  cls: new (options: any) => T,
  { embeddings: _weight, freeze, ...others }: { embeddings: Tensor; freeze: boolean },
): T {
  const [numEmbeddings, embeddingDim] = _weight.shape as [number, number];
  const made = new cls({ numEmbeddings, embeddingDim, _weight, ...others });
  made.weight.requiresGrad = !freeze;
  return made;
}

/** Rows of a table, by their numbers. */
export class Embedding extends Module {
  numEmbeddings: number;
  embeddingDim: number;
  paddingIdx: number | null;
  maxNorm: number | null;
  normType: number;
  scaleGradByFreq: boolean;
  sparse: boolean;
  weight: Parameter<DType, [rows: number, columns: number]>;

  constructor(
    ...passed: Args<
      [
        numEmbeddings: number,
        embeddingDim: number,
        paddingIdx?: number | null,
        maxNorm?: number | null,
        normType?: number,
        scaleGradByFreq?: boolean,
        sparse?: boolean,
        weight?: Tensor | null,
        ...FactoryArgs,
      ],
      typeof embedding
    >
  ) {
    super();
    const given = read('Embedding', embedding, passed);
    this.numEmbeddings = given.numEmbeddings;
    this.embeddingDim = given.embeddingDim;
    this.paddingIdx = paddingOf('Embedding', given.paddingIdx, given.numEmbeddings);
    this.maxNorm = given.maxNorm;
    this.normType = given.normType;
    this.scaleGradByFreq = given.scaleGradByFreq;
    this.sparse = given.sparse;
    this.weight = weightOf('Embedding', { ...given, paddingIdx: this.paddingIdx }) as Parameter<
      DType,
      [number, number]
    >;
  }

  /** An embedding with the rows of `embeddings`, which does not train them unless `freeze` is false. */
  static fromPretrained(...passed: Args<PretrainedArgs, typeof pretrained>): Embedding {
    return withRows(Embedding, read('Embedding.fromPretrained', pretrained, passed));
  }

  resetParameters(): void {
    drawn(this.weight, this.paddingIdx);
  }

  override forward(input: Tensor): Tensor {
    const { weight, paddingIdx, maxNorm, normType, scaleGradByFreq, sparse } = this;
    return F.embedding(input, weight, paddingIdx, maxNorm, normType, scaleGradByFreq, sparse);
  }

  override extraRepr(): string {
    const padding = this.paddingIdx === null ? '' : `, padding_idx=${this.paddingIdx}`;
    return `${sizeText(this, padding)}${this.sparse ? ', sparse=True' : ''}`;
  }
}

const bag = {
  numEmbeddings: int(),
  embeddingDim: int(),
  maxNorm: orNull(float()),
  normType: float(2),
  scaleGradByFreq: flag(false),
  mode: text<'sum' | 'mean' | 'max'>('mean', ['sum', 'mean', 'max']),
  sparse: flag(false),
  _weight: tensor,
  includeLastOffset: flag(false),
  paddingIdx: orNull(int()),
  ...factory,
};

const pretrainedBag = {
  embeddings,
  freeze: flag(true),
  maxNorm: bag.maxNorm,
  normType: bag.normType,
  scaleGradByFreq: bag.scaleGradByFreq,
  mode: bag.mode,
  sparse: bag.sparse,
  includeLastOffset: bag.includeLastOffset,
  paddingIdx: bag.paddingIdx,
};
type PretrainedBagArgs = [
  embeddings: Tensor,
  freeze?: boolean,
  maxNorm?: number | null,
  normType?: number,
  scaleGradByFreq?: boolean,
  mode?: 'sum' | 'mean' | 'max',
  sparse?: boolean,
  includeLastOffset?: boolean,
  paddingIdx?: number | null,
];

/** Sums, means or maxima of rows of a table. */
export class EmbeddingBag extends Module {
  numEmbeddings: number;
  embeddingDim: number;
  maxNorm: number | null;
  normType: number;
  scaleGradByFreq: boolean;
  mode: 'sum' | 'mean' | 'max';
  sparse: boolean;
  includeLastOffset: boolean;
  paddingIdx: number | null;
  weight: Parameter;

  constructor(
    ...passed: Args<
      [
        numEmbeddings: number,
        embeddingDim: number,
        maxNorm?: number | null,
        normType?: number,
        scaleGradByFreq?: boolean,
        mode?: 'sum' | 'mean' | 'max',
        sparse?: boolean,
        weight?: Tensor | null,
        includeLastOffset?: boolean,
        paddingIdx?: number | null,
        ...FactoryArgs,
      ],
      typeof bag
    >
  ) {
    super();
    const given = read('EmbeddingBag', bag, passed);
    this.numEmbeddings = given.numEmbeddings;
    this.embeddingDim = given.embeddingDim;
    this.maxNorm = given.maxNorm;
    this.normType = given.normType;
    this.scaleGradByFreq = given.scaleGradByFreq;
    this.mode = given.mode;
    this.sparse = given.sparse;
    this.includeLastOffset = given.includeLastOffset;
    this.paddingIdx = paddingOf('EmbeddingBag', given.paddingIdx, given.numEmbeddings);
    this.weight = weightOf('EmbeddingBag', { ...given, paddingIdx: this.paddingIdx });
  }

  /** A bag with the rows of `embeddings`, which does not train them unless `freeze` is false. */
  static fromPretrained(...passed: Args<PretrainedBagArgs, typeof pretrainedBag>): EmbeddingBag {
    return withRows(EmbeddingBag, read('EmbeddingBag.fromPretrained', pretrainedBag, passed));
  }

  resetParameters(): void {
    drawn(this.weight, this.paddingIdx);
  }

  override forward(
    input: Tensor,
    ...more: Further<
      [offsets?: Tensor | null | undefined, perSampleWeights?: Tensor | null | undefined],
      { offsets?: Tensor | null | undefined; perSampleWeights?: Tensor | null | undefined }
    >
  ): Tensor {
    const [offsets, perSampleWeights] = further(forwardOf(this), { offsets: tensor, perSampleWeights: tensor }, more);
    return F.embeddingBag(input, this.weight, offsets, {
      maxNorm: this.maxNorm,
      normType: this.normType,
      scaleGradByFreq: this.scaleGradByFreq,
      mode: this.mode,
      sparse: this.sparse,
      perSampleWeights,
      includeLastOffset: this.includeLastOffset,
      paddingIdx: this.paddingIdx,
    });
  }

  override extraRepr(): string {
    const padding = this.paddingIdx === null ? '' : `, padding_idx=${this.paddingIdx}`;
    return `${sizeText(this, '')}, mode=${quotesMode ? pythonText(this.mode) : this.mode}${padding}`;
  }
}

takesInputs(Embedding);
