/** The generated and hand-written functions of every namespace, and the methods, with the signatures behind them. */
'use strict';

const path = require('node:path');

/** For one module instance (`lib` is the folder of the built library). */
function wrapperTables(lib) {
  const torch = require(path.join(lib, 'index.js'));
  const { signature, decodeSignature } = require(path.join(lib, 'call/signature.js'));
  const { publics } = require(path.join(lib, 'addon/wrappers.js'));

  /** Signatures behind a wrapper: those of its ops and of the functions in lib/public. */
  function signaturesOf(space, name, fn) {
    const found = /(?:method|function|public)Site\((?:'[^']*', )?'[^']*', (\[[^\]]*\])/.exec(String(fn));
    const rows = found === null ? [] : JSON.parse(found[1]);
    const written = (Object.hasOwn(publics[space] ?? {}, name) ? publics[space][name] : []).map((texts) =>
      decodeSignature(-1, texts),
    );
    return [...rows.map(signature), ...written];
  }

  const mirrorOf = (space) =>
    space === '' ? torch.async : space.split('.').reduce((at, part) => at[part], torch.async);

  /**
   * The functions of all namespaces, each with its counterpart in torch.async (`mirrored`), then, unless `mirror`, the
   * methods, which have none.
   */
  function* wrappers({ mirror = false } = {}) {
    for (const space of ['', 'nn.functional', 'linalg', 'fft', 'special', 'sparse']) {
      const object = space === '' ? torch : space.split('.').reduce((at, part) => at[part], torch);
      const functions = Object.entries(object).filter(([, fn]) => typeof fn === 'function');
      for (const [name, fn] of functions) yield { space, name, fn, mirrored: mirrorOf(space)[name] };
    }
    if (mirror) return;
    for (let at = torch.Tensor.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const [name, { value: fn }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
        if (typeof fn === 'function' && name !== 'constructor') yield { space: 'Tensor', name, fn };
      }
    }
  }

  return { signaturesOf, wrappers };
}

module.exports = { wrapperTables };
