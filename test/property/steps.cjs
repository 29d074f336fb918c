/** The steps, and fast-check's arbitrary for a list of them. */
'use strict';

const fc = require('fast-check');

const graphs = new Set(require('./steps/graphs.cjs'));
const flat = [
  ...require('./steps/creation.cjs'),
  ...require('./steps/views.cjs'),
  ...require('./steps/writing.cjs'),
  ...graphs,
  ...require('./steps/sparse.cjs'),
  ...require('./steps/lifetimes.cjs'),
  ...require('./steps/tokens.cjs'),
  ...require('./steps/threads.cjs'),
];

/** Each step repeated according to its weight. */
const wheel = flat.flatMap((step) => new Array(Math.ceil(step.weight * 10)).fill(step));
const withoutGraphs = wheel.filter((step) => !graphs.has(step));

/** `kind` chooses a flat step, the numbers its details. */
const simple = fc.record({
  kind: fc.nat(2 ** 20),
  draws: fc.array(fc.nat(2 ** 30), { minLength: 6, maxLength: 6 }),
});

const { step } = fc.letrec((tie) => ({
  step: fc.oneof(
    { weight: 60, arbitrary: simple },
    {
      weight: 4,
      arbitrary: fc.record({
        nested: fc.constantFrom('scope', 'scope', 'openScope', 'closeScope', 'move'),
        draws: fc.array(fc.nat(2 ** 30), { minLength: 6, maxLength: 6 }),
        steps: fc.array(tie('step'), { maxLength: 8, depthIdentifier: 'scopes' }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        nested: fc.constantFrom('async', 'async', 'drop', 'drop', 'collect', 'stop'),
        draws: fc.array(fc.nat(2 ** 30), { minLength: 6, maxLength: 6 }),
        steps: fc.array(tie('step'), { maxLength: 8, depthIdentifier: 'scopes' }),
        others: fc.array(tie('step'), { maxLength: 8, depthIdentifier: 'scopes' }),
      }),
    },
  ),
}));

const stepsArbitrary = fc.array(step, { minLength: 1, maxLength: 150, size: 'max' });

module.exports = { wheel, withoutGraphs, stepsArbitrary };
