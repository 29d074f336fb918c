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
  activations: ['Unary'],
  arguments: ['Args', 'Device', 'Kind', 'Named', 'Spec', 'Values'],
  averaged: ['Batch'],
  containers: ['Dict'],
  conv: ['ConvNd', 'PaddingMode', 'PaddingOf', 'Size'],
  distances: ['OfTwo'],
  hooks: ['Grads'],
  init: ['Gain', 'Kaiming', 'Mode', 'Normal', 'Sparse', 'TruncNormal', 'Uniform'],
  layer: ['Layer', 'LayerClass'],
  lazy: ['ConvArgs', 'NormArgs', 'normArguments'],
  linear: ['FactoryArgs', 'linear', 'LinearRule'],
  losses: ['Distance', 'Lengths', 'NllArgs', 'OfThree', 'OfTwo', 'Old', 'OldArgs'],
  normalization: ['NormBase'],
  padding: ['Size'],
  pooling: ['OutputSize', 'Pooled', 'Size'],
  recurrent: ['LstmState', 'Mode', 'Result'],
  shaped: [
    'BatchNormClass',
    'BatchNorms',
    'EmbeddingClass',
    'EmbeddingOptions',
    'EmbeddingRule',
    'Factory',
    'FlattenClass',
    'GroupNormClass',
    'GroupNormRule',
    'LastRule',
    'LayerNormClass',
    'LayerNormOptions',
    'NormOptions',
    'RMSNormClass',
    'SequentialClass',
    'SequentialOf',
    'Shaped',
    'ShapedBatchNorm1d',
    'ShapedBatchNorm2d',
    'ShapedBatchNorm3d',
    'ShapedEmbedding',
    'ShapedGroupNorm',
    'ShapedLayerNorm',
    'ShapedRMSNorm',
    'ShapedSequential',
    'Fixed',
    'Size',
    'UnflattenClass',
  ],
  'shaped-conv': [
    'ConvClass',
    'ConvOf',
    'ConvTransposeClass',
    'ConvOptions',
    'ConvRule',
    'NamedPadding',
    'OtherArgs',
    'Others',
    'ShapedConv1d',
    'ShapedConv2d',
    'ShapedConv3d',
    'ShapedConvs',
    'ShapedConvTranspose1d',
    'ShapedConvTranspose2d',
    'ShapedConvTranspose3d',
    'ShapedTransposed',
    'Size',
    'Text',
    'TransposedOf',
    'TransposedOptions',
    'TransposedOtherArgs',
    'TransposedRule',
  ],
  'shaped-pooling': [
    'AdaptivePoolClass',
    'AdaptiveRule',
    'AvgPoolClass',
    'LPPoolClass',
    'MaxPoolClass',
    'Other',
    'OutputSize',
    'PoolRule',
    'Rank',
    'Shaped',
    'Size',
    'Text',
  ],
  'transformer-layers': ['Four', 'Mask'],
  'utils/computed': ['Method'],
  'utils/fusion': ['Pair'],
  'utils/gradients': ['Tensors'],
  'utils/norms': ['SpectralArgs'],
  'utils/parametrizations': ['OrthogonalMap'],
  'utils/prune': ['Norm'],
  'utils/prune-methods': ['MethodClass'],
  'utils/rnn': ['Lengths'],
  vision: ['Size', 'WindowArgs'],
};

/** Types without a page: programs use them through other names, or only the compiler needs them. */
const unexported = [
  'types/async.d.ts:RunFunctions',
  'types/base.d.ts:Complex',
  'types/base.d.ts:DeviceKind',
  'types/base.d.ts:FirstParts',
  'types/base.d.ts:Stream',
  'types/base.d.ts:Options',
  'types/pending.d.ts:PendingMembers',
  'types/pending.d.ts:PendingMethods',
  'lib/elements/indexing.ts:IndexList',
  'lib/optim/adam.ts:Group',
  'lib/lifetimes/context.ts:ScopeNode',
  'lib/errors/turn.ts:Unfinished',
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
