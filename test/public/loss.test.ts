/** The losses of torch.nn.functional against PyTorch: every reduction, weights, the older arguments, derivatives. */
import { expectPyTorchs, type Line } from './inputs';

const reductions = ['none', 'mean', 'sum'];

/** A loss in all its reductions, with the older arguments for them, and its derivatives. */
const loss = (name: string, args: string, options = '', older = true): Line[] => {
  const with_ = (more: string) => {
    const all = [options, more].filter((text) => text !== '').join(', ');
    return `F.${name}(${args}${all === '' ? '' : `, { ${all} }`})`;
  };
  const [input, ...rest] = args.split(', ');
  return [
    with_(''),
    ...reductions.map((reduction) => with_(`reduction: "${reduction}"`)),
    with_('reduction: "wrong"'),
    ...(older ? [with_('sizeAverage: false'), with_('reduce: false'), with_('sizeAverage: false, reduce: true')] : []),
    `grads((a) => F.${name}(${['a', ...rest].join(', ')}${options === '' ? '' : `, { ${options} }`}), ${input})`,
  ];
};

const classes: Line[] = [
  ...loss('crossEntropy', 'logits, classes'),
  ...loss('crossEntropy', 'logits, classes, w5'),
  ...loss('crossEntropy', 'logits, classes', 'labelSmoothing: 0.1'),
  ...loss('crossEntropy', 'logits, ignored', 'weight: w5, labelSmoothing: 0.2'),
  ...loss('crossEntropy', 'logits, classes', 'ignoreIndex: 4'),
  ...loss('crossEntropy', 'logits, probs'),
  ...loss('crossEntropy', 'logits, probs', 'weight: w5, labelSmoothing: 0.3'),
  'F.crossEntropy(logits, classes, w5, null, 2, null, "sum", 0.1)',
  'F.crossEntropy(img, words.narrow(1, 0, 2))',
  'F.crossEntropy(img, img.argmax(1))',
  'F.crossEntropy(img, img.softmax(1), { reduction: "none" })',
  'F.crossEntropy(logits, classes.float())',
  'F.crossEntropy(logits)',
  ...loss('nllLoss', 'logits, classes'),
  ...loss('nllLoss', 'logits, ignored', 'weight: w5'),
  'F.nllLoss(img, img.argmax(1), c2)',
  'F.nllLoss(logits, classes, null, null, 2)',
  ...loss('multiMarginLoss', 'logits, classes'),
  ...loss('multiMarginLoss', 'logits, classes', 'p: 2, margin: 0.5, weight: w5'),
  'F.multiMarginLoss(logits, classes, 3)',
  'F.multiMarginLoss(logits, classes, { weight: x })',
  ...loss('multilabelMarginLoss', 'logits, row'),
  ...loss('multilabelSoftMarginLoss', 'logits, multi'),
  ...loss('multilabelSoftMarginLoss', 'logits, multi', 'weight: w5'),
  ...loss('ctcLoss', 'ctc, ctcTargets, lengths, targetLengths', '', false),
  'F.ctcLoss(ctc, ctcTargets, [6, 5], [3, 2])',
  'F.ctcLoss(ctc, ctcTargets, lengths, targetLengths, 2, "sum", true)',
  'F.ctcLoss(ctc, ctcTargets, lengths, targetLengths, { blank: 1, zeroInfinity: true })',
];

const values: Line[] = [
  ...['mseLoss', 'l1Loss', 'smoothL1Loss'].flatMap((name) => [
    ...loss(name, 'x, y'),
    `F.${name}(x, c3)`,
    `grads((a) => F.${name}(x, a), c3)`,
    `F.${name}(x, v)`,
    `F.${name}(x, y, null, null, "sum")`,
    `F.${name}(x, y, true)`,
    `F.${name}(x, d)`,
  ]),
  ...loss('smoothL1Loss', 'x, y', 'beta: 0.3'),
  ...loss('huberLoss', 'x, y', '', false),
  ...loss('huberLoss', 'x, y', 'delta: 0.2', false),
  'F.huberLoss(x, c3, "sum")',
  ...loss('softMarginLoss', 'logits, multi'),
  ...loss('binaryCrossEntropy', 'probs, multi'),
  ...loss('binaryCrossEntropy', 'probs, multi, w5'),
  'F.binaryCrossEntropy(probs, w5)',
  'grads((w) => F.binaryCrossEntropy(w, multi, w5), probs)',
  ...loss('binaryCrossEntropyWithLogits', 'logits, multi'),
  ...loss('binaryCrossEntropyWithLogits', 'logits, multi', 'weight: w5, posWeight: w5'),
  'F.binaryCrossEntropyWithLogits(logits, w5)',
  ...loss('klDiv', 'logits, probs'),
  ...loss('klDiv', 'logits, probs', 'logTarget: true'),
  'F.klDiv(logits, probs, { reduction: "batchmean" })',
  'F.klDiv(one, one, { reduction: "batchmean" })',
  'grads((a) => F.klDiv(a, probs, { reduction: "batchmean" }), logits)',
  ...loss('poissonNllLoss', 'logits, probs'),
  ...loss('poissonNllLoss', 'probs, other', 'logInput: false, full: true, eps: 0.01'),
  ...loss('gaussianNllLoss', 'logits, probs, other', '', false),
  ...loss('gaussianNllLoss', 'logits, probs, other', 'full: true, eps: 0.1', false),
  'F.gaussianNllLoss(logits, probs, signs.abs())',
  'F.gaussianNllLoss(logits, probs, signs.abs().unsqueeze(1))',
  'F.gaussianNllLoss(logits, probs, signs)',
  'F.gaussianNllLoss(logits, probs, w5)',
];

const margins: Line[] = [
  ...loss('cosineEmbeddingLoss', 'logits, probs, signs'),
  ...loss('cosineEmbeddingLoss', 'logits, probs, signs', 'margin: 0.2'),
  ...loss('hingeEmbeddingLoss', 'logits, multi'),
  ...loss('hingeEmbeddingLoss', 'logits, multi', 'margin: 0.3'),
  ...loss('marginRankingLoss', 'logits, probs, multi'),
  ...loss('marginRankingLoss', 'logits, probs, multi', 'margin: 0.4'),
  'F.marginRankingLoss(logits, probs, signs)',
  ...loss('tripletMarginLoss', 'logits, probs, other'),
  ...loss('tripletMarginLoss', 'logits, probs, other', 'margin: 2, p: 1, swap: true'),
  ...loss('tripletMarginWithDistanceLoss', 'logits, probs, other', '', false),
  ...loss('tripletMarginWithDistanceLoss', 'logits, probs, other', 'margin: 2, swap: true', false),
  'F.tripletMarginWithDistanceLoss(logits, probs, other, { distanceFunction: (a, b) => a.sub(b).abs().sum(1) })',
  'F.tripletMarginWithDistanceLoss(logits, probs, other, { distanceFunction: (a, b) => 3 })',
  'F.tripletMarginWithDistanceLoss(logits, probs, other, 2)',
];

test.each([
  ['of classes', classes, 20],
  ['of values', values, 24],
  ['with margins', margins, 13],
])('losses %s', async (_name, lines, failures) => {
  const { failed, counted } = await expectPyTorchs(lines);
  expect(failed).toHaveLength(failures);
  expect(counted).toBeGreaterThan(lines.length / 3);
});
