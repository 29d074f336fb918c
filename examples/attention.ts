/**
 * A small transformer that memorizes a rhyme letter by letter and then recites it. One block of masked attention; named
 * dimensions (`L` letters, `E` features) distinguish the sizes. `node examples/attention.js`
 */
import torch, { type Tensor } from 'libtorch-node';

const F = torch.nn.functional;
const TEXT = 'twinkle twinkle little star how i wonder what you are up above the world so high ';
const LETTERS = [...new Set(TEXT)].sort();
const CONTEXT = 16;
const FEATURES = 32;
const HIDDEN = 64;
const STEPS = 150;

torch.manualSeed(2);
const parameters: Tensor[] = [];
function weight<const S extends number[]>(size: S, scale = size.at(-2) ?? 1) {
  const made = torch.randn(size).div_(Math.sqrt(scale));
  made.requiresGrad = true;
  parameters.push(made);
  return made;
}

const letters = weight([LETTERS.length, FEATURES], 1);
const places = weight([CONTEXT, FEATURES], 1);
const [query, key, value] = [weight([FEATURES, FEATURES]), weight([FEATURES, FEATURES]), weight([FEATURES, FEATURES])];
const [wide, narrow] = [weight([FEATURES, HIDDEN]), weight([HIDDEN, FEATURES])];
const scores = weight([FEATURES, LETTERS.length]);

/** Masks the letters after each letter. */
const future = torch.ones([CONTEXT, CONTEXT]).triu(1).bool();

/**
 * Attention of each position to those before it. NoInfer: the first argument determines `B`, `L` and `E`, and the others
 * must match; otherwise the compiler would infer a union of differing sizes.
 */
function attend<B extends number, L extends number, E extends number>(
  q: Tensor<'float32', [B, L, E]>,
  k: Tensor<'float32', [NoInfer<B>, NoInfer<L>, NoInfer<E>]>,
  v: Tensor<'float32', [NoInfer<B>, NoInfer<L>, NoInfer<E>]>,
  hidden: Tensor<'bool', [NoInfer<L>, NoInfer<L>]>,
): Tensor<'float32', [B, L, E]> {
  const likeness = torch.bmm(q, k.transpose(1, 2)).div(Math.sqrt(q.shape[2])); // [B, L, L]
  const shares = likeness.maskedFill(hidden, Number.NEGATIVE_INFINITY).softmax(2);
  return torch.bmm(shares, v);
}

/** The scores of the next letter, for each position of each line. */
function forward<B extends number>(lines: Tensor<'int64', [B, 16]>) {
  const x = F.embedding(lines, letters).add(places);
  const seen = x.add(attend(x.matmul(query), x.matmul(key), x.matmul(value), future));
  const normal = F.layerNorm(seen, [FEATURES]);
  return normal.add(normal.matmul(wide).relu().matmul(narrow)).matmul(scores);
}

const codes = torch.tensor(
  [...TEXT].map((letter) => LETTERS.indexOf(letter)),
  { dtype: 'int64' },
);
/** All substrings of the text, and the same ones shifted by one letter. */
const starts = TEXT.length - CONTEXT;
const lines = torch.stack(Array.from({ length: starts }, (_, i) => codes.narrow(0, i, CONTEXT)));
const next = torch.stack(Array.from({ length: starts }, (_, i) => codes.narrow(0, i + 1, CONTEXT)));

const adam = new torch.optim.Adam(parameters, { lr: 0.01 });
for (let step = 1; step <= STEPS; step++) {
  const loss = torch.scope(() => {
    const cost = F.crossEntropy(forward(lines).flatten(0, 1), next.flatten());
    adam.zeroGrad();
    cost.backward();
    adam.step();
    return Number(cost.item());
  });
  if (step === 1 || step % 50 === 0) console.log(`step ${step}: loss ${loss.toFixed(3)}`);
}

let said = TEXT.slice(0, CONTEXT);
torch.noGrad(() => {
  while (said.length < TEXT.length) {
    said += torch.scope(() => {
      const line = torch.tensor([[...said.slice(-CONTEXT)].map((letter) => LETTERS.indexOf(letter))], {
        dtype: 'int64',
      });
      return LETTERS[
        Number(
          forward(line as Tensor<'int64', [1, 16]>)
            .at(0, -1)
            .argmax()
            .item(),
        )
      ];
    });
  }
});
console.log(said);
