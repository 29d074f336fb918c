/** Inputs of the optimizers: those of `optim_db` of PyTorch 2.6, and more. Names in Python's form; `since` a release. */

export interface Input {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly since?: string;
  readonly dtype?: 'float32' | 'float64' | 'complex64';
  readonly sparse?: boolean;
  /** Two groups, the second with another learning rate. */
  readonly groups?: boolean;
  /** The gradients come from a closure. */
  readonly closure?: boolean;
  /** Of the parameters, if others than usual. */
  readonly shapes?: readonly number[][];
}

const dense: Record<string, (Record<string, unknown> & { since?: string })[]> = {
  ASGD: [
    {},
    { lambd: 0.1 },
    { lr: 0.02 },
    { t0: 20 },
    { maximize: true },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, maximize: true },
  ],
  Adadelta: [
    {},
    { lr: 0.01 },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, maximize: true },
    { rho: 0.95, weight_decay: 0.9 },
  ],
  Adagrad: [
    {},
    { weight_decay: 0.1 },
    { weight_decay: 0.1, maximize: true },
    { lr: 0.1 },
    { initial_accumulator_value: 0.1, weight_decay: 0.1 },
    { lr: 0.1, lr_decay: 0.5, weight_decay: 0.1 },
  ],
  Adam: [
    {},
    { lr: 0.01 },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, maximize: true },
    { weight_decay: 0.1, maximize: true, amsgrad: true },
    { betas: [0.8, 0.97], eps: 1e-6 },
  ],
  AdamW: [
    {},
    { lr: 0.01 },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, maximize: true },
    { weight_decay: 0.1, amsgrad: true },
    { weight_decay: 0 },
  ],
  Adamax: [{}, { lr: 0.1 }, { weight_decay: 0.1 }, { weight_decay: 0.1, maximize: true }],
  NAdam: [
    {},
    { lr: 1e-3 },
    { momentum_decay: 6e-3 },
    { weight_decay: 0.1, momentum_decay: 6e-3 },
    { weight_decay: 0.1, decoupled_weight_decay: true, since: '2.6' },
    { weight_decay: 0.1, maximize: true, since: '2.6' },
  ],
  RAdam: [
    {},
    { lr: 2e-3 },
    { eps: 1e-6 },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, decoupled_weight_decay: true, since: '2.6' },
    { weight_decay: 0.1, maximize: true, since: '2.6' },
  ],
  RMSprop: [
    {},
    { lr: 1e-3 },
    { weight_decay: 0.1 },
    { weight_decay: 0.1, centered: true },
    { maximize: true, weight_decay: 0.1, centered: true, momentum: 0.1 },
  ],
  Rprop: [{}, { lr: 2e-4 }, { etas: [0.6, 1.5] }, { step_sizes: [2e-6, 0.02] }, { maximize: true }],
  SGD: [
    { lr: 1e-2 },
    { lr: 1e-2, momentum: 0.9 },
    { lr: 1e-2, momentum: 0.9, dampening: 0.5 },
    { lr: 1e-2, momentum: 0.9, weight_decay: 0.1 },
    { lr: 1e-2, momentum: 0.9, nesterov: true, weight_decay: 0.1 },
    { lr: 1e-2, weight_decay: 0.1, maximize: true },
  ],
};

const lbfgs = [
  {},
  { lr: 0.01 },
  { tolerance_grad: 1e-6 },
  { line_search_fn: 'strong_wolfe' },
  { max_iter: 4, history_size: 3 },
];

const input = (
  name: string,
  { since, ...options }: Record<string, unknown> & { since?: string },
  more: Partial<Input> = {},
): Input => ({
  name,
  options,
  ...(since === undefined ? {} : { since }),
  ...more,
});

/** Fused steps, which 1.13 has for CUDA alone. */
const fused: readonly (readonly [name: string, options: Record<string, unknown>])[] = [
  ['Adam', {}],
  ['Adam', { weight_decay: 0.1, maximize: true, amsgrad: true }],
  ['AdamW', { weight_decay: 0.1 }],
  ['AdamW', { weight_decay: 0.1, amsgrad: true }],
  ['SGD', { lr: 1e-2 }],
  ['SGD', { lr: 1e-2, momentum: 0.9, dampening: 0.5, weight_decay: 0.1 }],
  ['SGD', { lr: 1e-2, momentum: 0.9, nesterov: true, maximize: true }],
  ['Adagrad', { lr: 0.1, lr_decay: 0.5, weight_decay: 0.1 }],
];

/** Where Python's `foreach` has formulas with other bits than those of its loop. */
export const foreachDiffers = ['ASGD', 'Adagrad', 'NAdam', 'RAdam'];

const each = Object.entries(dense).flatMap(([name, all]) => all.map((options) => [name, options] as const));

export const inputs: readonly Input[] = [
  ...each.map(([name, options]) => input(name, options)),
  ...Object.keys(dense).flatMap((name) => {
    const options = dense[name]!.at(-1)!.since === undefined ? dense[name]!.at(-1)! : dense[name]![3]!;
    return [
      input(name, options, { dtype: 'float64' }),
      input(name, dense[name]![0]!, { groups: true }),
      input(name, options, { closure: true }),
      input(name, { ...options, foreach: true }),
      ...(/NAdam|RAdam/.test(name) ? [] : [input(name, { ...dense[name]![2] }, { dtype: 'complex64' })]),
    ];
  }),
  ...foreachDiffers.flatMap((name) => [
    ...dense[name]!.map((options) => input(name, { ...options, foreach: true })),
    input(name, { ...dense[name]![3]!, foreach: true }, { dtype: 'float64', groups: true }),
    ...(/NAdam|RAdam/.test(name) ? [] : [input(name, { ...dense[name]![2], foreach: true }, { dtype: 'complex64' })]),
  ]),
  ...fused.map(([name, options]) => input(name, { ...options, fused: true, since: '2.6' })),
  input('Adam', { fused: true, since: '2.6' }, { dtype: 'float64', groups: true }),
  ...lbfgs.map((options) => input('LBFGS', options, { closure: true })),
  input('LBFGS', { line_search_fn: 'strong_wolfe' }, { closure: true, dtype: 'float64' }),
  ...[{}, { lr: 0.01 }, { maximize: true }].map((options) => input('SparseAdam', options, { sparse: true })),
  input('SGD', { lr: 0.01, maximize: true }, { sparse: true }),
  input('Adagrad', { lr: 0.01, lr_decay: 0.1 }, { sparse: true }),
];

/** Constructor calls that Python refuses. */
export const refused: readonly [name: string, options: Record<string, unknown>][] = [
  ...[
    'ASGD',
    'Adadelta',
    'Adagrad',
    'Adam',
    'AdamW',
    'Adamax',
    'NAdam',
    'RAdam',
    'RMSprop',
    'Rprop',
    'SGD',
    'SparseAdam',
  ].map((name): [string, Record<string, unknown>] => [name, { lr: -0.5 }]),
  ...['ASGD', 'Adadelta', 'Adagrad', 'Adam', 'AdamW', 'Adamax', 'NAdam', 'RAdam', 'RMSprop'].map(
    (name): [string, Record<string, unknown>] => [name, { weight_decay: -1 }],
  ),
  ...['Adam', 'AdamW', 'Adamax', 'NAdam', 'RAdam', 'SparseAdam'].flatMap(
    (name): [string, Record<string, unknown>][] => [
      [name, { betas: [1, 0] }],
      [name, { betas: [0, -1] }],
      [name, { eps: -1 }],
    ],
  ),
  ['Adadelta', { rho: 1.1 }],
  ['Adadelta', { eps: -1 }],
  ['Adagrad', { lr_decay: -0.5 }],
  ['Adagrad', { initial_accumulator_value: -1 }],
  ['Adagrad', { eps: -1 }],
  ['NAdam', { momentum_decay: -0.2 }],
  ['RMSprop', { momentum: -1 }],
  ['RMSprop', { alpha: -1 }],
  ['RMSprop', { eps: -1 }],
  ['Rprop', { etas: [1, 0.5] }],
  ['SGD', { lr: 0.01, momentum: -0.5 }],
  ['SGD', { lr: 0.01, weight_decay: -0.5 }],
  ['SGD', { lr: 0.01, nesterov: true }],
  ['SGD', { lr: 0.01, nesterov: true, momentum: 0.9, dampening: 0.1 }],
  ['SparseAdam', { lr: 0 }],
];
