/** The calls of handwritten.cjs that read and write files. */
'use strict';

const path = require('node:path');

module.exports = ({ torch, folder, options, list, getter, tensorsOnly, nothing, path_ }) => {
  const file = path.join(folder, 'a');
  const ones = () => torch.ones([2, 2]);
  const bytes = torch.saveToBuffer({ a: 1 });
  const npyBytes = torch.npy.serialize(ones());
  const npzFile = path.join(folder, 'z.npz');
  torch.npz.save(npzFile, { a: ones() });
  const safeBytes = torch.safetensors.serialize({ a: ones() });
  return {
    'npy.load': [(fire) => torch.npy.load(npyBytes, options(fire, 'device', 'cpu'))],
    'npy.save': tensorsOnly((_fire, t) => torch.npy.save(file, t)),
    'npy.serialize': tensorsOnly((_fire, t) => torch.npy.serialize(t).length),
    'npy.loadFromStream': nothing(
      'reads its source on later turns, outside every scope of ours: test/files/streams.test.ts',
    ),
    'npy.saveToStream': tensorsOnly((_fire, t) => void torch.npy.saveToStream(t).cancel()),
    'npz.load': [(fire) => torch.npz.load(npzFile, options(fire, 'device', 'cpu')).a],
    'npz.loadFromStream': nothing('as npy.loadFromStream'),
    'npz.save': [(fire, t) => torch.npz.save(file, options(fire, 'b', t, { a: t }))],
    'npz.saveToStream': [(fire, t) => void torch.npz.saveToStream(options(fire, 'b', t, { a: t })).cancel()],
    'safetensors.open': nothing(path_),
    'safetensors.load': [(fire) => torch.safetensors.load(safeBytes, options(fire, 'device', 'cpu')).a],
    'safetensors.loadFromStream': nothing('as npy.loadFromStream'),
    'safetensors.serialize': [
      (fire, t) => torch.safetensors.serialize(options(fire, 'b', t, { a: t })).length,
      (fire, t) => torch.safetensors.serialize({ a: t }, { metadata: options(fire, 'm', 'x') }).length,
    ],
    'safetensors.save': [(fire, t) => torch.safetensors.save(file, options(fire, 'b', t, { a: t }))],
    'safetensors.saveToStream': [
      (fire, t) => void torch.safetensors.saveToStream(options(fire, 'b', t, { a: t })).cancel(),
    ],
    load: [(fire) => torch.load(bytes, options(fire, 'device', 'cpu')).a],
    loadFromStream: nothing('as npy.loadFromStream'),
    save: [(fire, t) => torch.save({ t, inner: options(fire, 'a', 1) }, file)],
    saveToBuffer: [
      (fire, t) => torch.saveToBuffer({ t, list: list(fire, [1, t]) }).length,
      (fire, t) => torch.saveToBuffer({ t, made: getter(fire) }).length,
    ],
    saveToStream: [(fire, t) => void torch.saveToStream(options(fire, 'a', 1, { t })).cancel()],
  };
};
