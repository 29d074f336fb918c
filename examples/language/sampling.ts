/** Chooses the next token from the scores of all. */
import torch, { type Tensor } from 'libtorch-node';

export interface Sampling {
  /** 0: always the token with the highest score. Below 1 likely tokens become more likely, above 1 less. */
  temperature?: number | undefined;
  /** Only this many tokens with the highest scores are chosen from. */
  topK?: number | undefined;
  /** Only the most likely tokens are chosen from, as many as have this probability together. */
  topP?: number | undefined;
  /** The same seed chooses the same tokens. Without a seed the default generator draws. */
  seed?: number | undefined;
}

const MIN_FLOAT = 1e-30;

/** A function from scores [vocabulary] to a token. @throws RangeError for an option outside its range */
export function sampler({ temperature = 0, topK, topP = 1, seed }: Sampling): (scores: Tensor) => number {
  demand(temperature >= 0 && temperature <= 100, 'temperature', 'from 0 to 100', temperature);
  demand(topK === undefined || (Number.isInteger(topK) && topK > 0), 'topK', 'an integer from 1', topK);
  demand(topP > 0 && topP <= 1, 'topP', 'above 0, up to 1', topP);
  const isSeed = Number.isInteger(seed) && seed! >= 0 && seed! <= 2 ** 32;
  demand(seed === undefined || isSeed, 'seed', 'an integer from 0 to 2^32', seed);
  if (temperature === 0) return (scores) => scores.argmax().item() as number;
  // float32 does not have smaller numbers, which would become 0.
  const [divisor, kept] = [Math.max(temperature, MIN_FLOAT), Math.max(topP, MIN_FLOAT)];
  const generator = new torch.Generator();
  if (seed !== undefined) generator.manualSeed(seed);
  else generator.seed();
  return (scores) => {
    const { values, indices } = scores.div(divisor).topk(Math.min(topK ?? scores.numel, scores.numel));
    const probabilities = values.softmax(0);
    // A token stays if those before it do not have topP yet, so the first always stays.
    const before = probabilities.cumsum(0).sub(probabilities);
    const likely = probabilities.mul(before.lt(kept));
    return indices.at(torch.multinomial(likely, 1, { generator }).item() as number).item() as number;
  };
}

function demand(holds: boolean, name: string, expected: string, got: unknown): void {
  if (!holds) throw new RangeError(`${name}: expected ${expected}, got ${got}`);
}
