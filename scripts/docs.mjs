/**
 * npm run docs: one static site in build/site, with search, from README, the guides in docs/, and the declarations with their
 * comments. It needs no network, neither to be made nor to be read.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './paths.mjs';
import { apiSources, inner, writeApiSources } from './steps/api-sources.mjs';
import { ensureCodegen } from './steps/codegen.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { setUp } from './steps/setup.mjs';
import { groups, pages } from './steps/site-pages.mjs';

/** Types in the signatures of modules, by the file in lib/nn. */
const ofModules = {
  arguments: ['Args', 'Device', 'Kind', 'Named', 'Spec'],
  averaged: ['Batch'],
  activations: ['GLU'],
  attention: ['MultiheadAttention'],
  cells: ['Hx'],
  containers: ['Dict', 'ModuleDict', 'ModuleList', 'Sequential', 'SliceArguments'],
  conv: [
    'Conv1d',
    'Conv2d',
    'Conv3d',
    'ConvNd',
    'ConvTranspose1d',
    'ConvTranspose2d',
    'ConvTranspose3d',
    'PaddingMode',
    'PaddingOf',
    'Size',
  ],
  embedding: ['Embedding', 'PretrainedBagArgs'],
  hooks: ['Grads'],
  given: ['ModuleLike'],
  init: ['Gain', 'Kaiming', 'Mode', 'Normal', 'Sparse', 'TruncNormal', 'Uniform'],
  layer: ['FloatLayer', 'IndexingLayer', 'LayerClass', 'PairLayer', 'TensorLayer', 'ValueLayer'],
  lazy: ['ConvArgs', 'NormArgs', 'normArguments'],
  linear: ['FactoryArgs', 'Flatten', 'LinearRule', 'Unflatten', 'linear'],
  losses: ['Distance', 'NllArgs', 'Old', 'OldArgs', 'PerBatch'],
  normalization: [
    'BatchNorm1d',
    'BatchNorm2d',
    'BatchNorm3d',
    'GroupNorm',
    'InstanceNorm1d',
    'InstanceNorm2d',
    'InstanceNorm3d',
    'LayerNorm',
    'NormBase',
    'RMSNorm',
  ],
  padding: [
    'CircularPad1d',
    'CircularPad2d',
    'CircularPad3d',
    'ConstantPad1d',
    'ConstantPad2d',
    'ConstantPad3d',
    'ReflectionPad1d',
    'ReflectionPad2d',
    'ReflectionPad3d',
    'ReplicationPad1d',
    'ReplicationPad2d',
    'ReplicationPad3d',
    'Size',
    'ZeroPad1d',
    'ZeroPad2d',
    'ZeroPad3d',
  ],
  pooling: [
    'AdaptiveAvgPool1d',
    'AdaptiveAvgPool2d',
    'AdaptiveAvgPool3d',
    'AdaptiveMaxPool1d',
    'AdaptiveMaxPool2d',
    'AdaptiveMaxPool3d',
    'AvgPool1d',
    'AvgPool2d',
    'AvgPool3d',
    'LPPool1d',
    'LPPool2d',
    'LPPool3d',
    'MaxPool1d',
    'MaxPool2d',
    'MaxPool3d',
    'OutputSize',
    'UnpoolLayer',
    'Size',
  ],
  parameter: ['MaterializeArgs', 'UninitializedArgs'],
  recurrent: ['GRU', 'LSTM', 'Mode', 'RNN'],
  'shaped-padding': ['Constant', 'ModeArgs'],
  transformer: ['Transformer', 'TransformerDecoder', 'TransformerEncoder'],
  'transformer-layers': ['Mask', 'TransformerDecoderLayer', 'TransformerEncoderLayer'],
  'utils/computed': ['Method'],
  'utils/fusion': ['Pair'],
  'utils/gradients': ['Tensors'],
  'utils/norms': ['SpectralArgs'],
  'utils/parametrizations': ['OrthogonalMap'],
  'utils/prune': ['PruningMethod'],
  'utils/prune-methods': ['MethodClass', 'Norm'],
  'utils/rnn': ['Lengths'],
  vision: ['Size', 'Upsample', 'UpsamplingBilinear2d', 'UpsamplingNearest2d', 'WindowArgs'],
};

/** Types without a page: programs use them through other names, or only the compiler needs them. */
const unexported = [
  'lib/addon/options.ts:Mixed',
  'lib/autograd/function.ts:Saving',
  'lib/autograd/grad.ts:GradientsOf',
  'lib/autograd/grad.ts:OnceOptions',
  'lib/nn/inputs.ts:Further',
  'types/async.d.ts:RunFunctions',
  'types/base.d.ts:Complex',
  'types/base.d.ts:DeviceKind',
  'types/base.d.ts:FirstParts',
  'types/base.d.ts:Stream',
  'types/base.d.ts:Options',
  'types/pending.d.ts:PendingMembers',
  'types/pending.d.ts:PendingMethods',
  ...['AnyFunction', 'Batch', 'BatchOf', 'IsUnknown', 'Merged', 'Rows', 'Unchanged', 'Unsaid'].map(
    (name) => `lib/data/batch-types.ts:${name}`,
  ),
  'lib/data/progress.ts:OrderKind',
  'lib/data/typed-loader.ts:AnyDataset',
  'lib/data/typed-loader.ts:Source',
  'lib/data/samplers.ts:Sized',
  'lib/elements/indexing.ts:IndexList',
  'lib/optim/adam.ts:Group',
  'lib/optim/groups.ts:Filled',
  'lib/optim/groups.ts:OwnGroup',
  'lib/lifetimes/context.ts:ScopeNode',
  'lib/errors/restoring.ts:Unfinished',
  ...Object.entries(ofModules).flatMap(([file, names]) => names.map((name) => `lib/nn/${file}.ts:${name}`)),
];

await runMain(() =>
  withLock(async () => {
    await setUp(['build']);
    await ensureCodegen();
    const entryPoints = writeApiSources();
    const tsconfig = path.join(apiSources, 'tsconfig.json');
    const options = path.join(apiSources, 'typedoc.json');
    writeFileSync(tsconfig, JSON.stringify({ extends: '../../tsconfig.json', include: [], files: entryPoints }));
    writeFileSync(
      options,
      JSON.stringify({
        name: 'libtorch-node',
        entryPoints,
        tsconfig,
        out: inRoot('build', 'site'),
        readme: inRoot('README.md'),
        projectDocuments: pages.map(({ name }) => inRoot('docs', `${name}.md`)),
        plugin: [inRoot('scripts', 'steps', 'site-plugin.mjs')],
        customCss: inRoot('scripts', 'steps', 'site.css'),
        sort: ['documents-first', 'source-order'],
        groupOrder: [...Object.keys(groups), '*'],
        navigation: { includeGroups: true },
        searchInDocuments: true,
        highlightLanguages: ['bash', 'console', 'javascript', 'json', 'python', 'text', 'typescript', 'yaml'],
        headings: { readme: false, document: true },
        hideGenerator: true,
        disableSources: true,
        skipErrorChecking: true, // npm run typecheck checks
        excludeInternal: true,
        excludePrivate: true,
        excludeExternals: true,
        externalPattern: ['**/types/generated/methods.d.ts', '**/node_modules/**'], // the methods have a module of their own
        intentionallyNotExported: [...inner(), ...unexported],
        treatWarningsAsErrors: true,
      }),
    );
    const typedoc = inRoot('node_modules', 'typedoc', 'bin', 'typedoc');
    process.exitCode = await runShown(process.execPath, [typedoc, '--options', options, ...process.argv.slice(2)]);
  }),
);
