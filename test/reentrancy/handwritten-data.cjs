/** The calls of handwritten.cjs on torch.utils, except for checkpoints. */
'use strict';

module.exports = ({ torch, options, list, generator, nothing }) => {
  const { data } = torch.utils;
  const ones = () => torch.ones([2, 2]);
  const file = 'takes a file or its bytes, and no tensor';
  return {
    'utils.assertFinite': nothing('takes a tensor or a number, and a number'),
    'utils.parseJSON': [
      (fire) => {
        const text = Buffer.from('{"a":[1,2.5]}');
        const { a } = torch.utils.parseJSON(text, options(fire, 'a', Float64Array));
        return torch.tensor(a);
      },
    ],
    'utils.data.defaultCollate': [
      (fire, t) => data.defaultCollate(generator(fire, [t, ones()])),
      (fire, t) => data.defaultCollate([options(fire, 'a', [t]), { a: [ones()] }]),
      (fire, t) => data.defaultCollate([list(fire, [t, 1]), [ones(), 2]]),
    ],
    'utils.data.decodeImage': nothing(file),
    'utils.data.loadTokenizer': nothing(file),
    'utils.data.readArrow': nothing(file),
    'utils.data.readParquet': nothing(file),
    'utils.data.tokenCollate': [
      (fire) => {
        const encode = (text) => {
          fire();
          return { ids: [text.length, 2] };
        };
        return data.tokenCollate({ encode }, options(fire, 'maxLength', 3))(generator(fire, ['a', 'bc']));
      },
    ],
    'utils.data.defaultConvert': nothing('makes no tensor of a tensor: it returns it'),
    'utils.data.randomSplit': [
      (fire) => {
        torch.manualSeed(0);
        const parts = data.randomSplit([1, 2, 3], generator(fire, [2, 1]), options(fire, 'generator', undefined));
        return torch.tensor([...parts[0].indices]);
      },
    ],
  };
};
