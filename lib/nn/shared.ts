/** Modules of several threads on the same memory: `net.share()` gives tokens, `net.loadShared(tokens)` takes them. */
import { types } from 'node:util';
import { ownOptions } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { argumentError, codedError, describe } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { fromShared, type SharedTensor, type SharedToken, share } from '../tensor/share';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { Module } from './module';
import { assigned, type IncompatibleKeys, isLazy, type LoadOptions, misfit, put, refuseMisfits } from './state';

/** A token for each parameter and buffer, by name. */
export type SharedModule = Record<string, SharedToken>;

/** The parameters, then the buffers, each once: also those that are not part of the state dict. */
const tensorsOf = (module: Module): [name: string, tensor: Tensor][] => [
  ...module.namedParameters(),
  ...module.namedBuffers(),
];

export function sharedOf(module: Module): SharedModule {
  const tensors = tensorsOf(module);
  const lazy = tensors.find(([, tensor]) => isLazy(tensor));
  if (lazy !== undefined) {
    const got = `'${lazy[0]}' of ${module.constructor.name} before its first forward`;
    throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `share: expected parameters with a shape, got ${got}`);
  }
  const tokens: SharedModule = {};
  try {
    for (const [name, tensor] of tensors) put(tokens, name, share(tensor));
  } catch (error) {
    // Nobody gets the tokens made so far.
    for (const token of Object.values(tokens)) token.dispose();
    throw error;
  }
  return tokens;
}

/** A token without getters, or the value itself. */
function tokenOf(value: unknown): unknown {
  const shared = (value as SharedTensor | null | undefined)?.shared;
  return types.isSharedArrayBuffer(shared) ? { shared } : value;
}

const isToken = (value: unknown): value is SharedTensor =>
  types.isSharedArrayBuffer((value as SharedTensor | null | undefined)?.shared);

function tokensOf(shared: unknown): Map<string, unknown> {
  if (typeof shared !== 'object' || shared === null || Array.isArray(shared) || isTensor(shared) || isToken(shared)) {
    throw argumentError('loadShared', 'shared', 'an object of tokens, as share() of a module returns it', shared);
  }
  return new Map(Object.entries(shared).map(([name, value]) => [name, tokenOf(value)]));
}

export function loadShared(module: Module, shared: unknown, options: LoadOptions): IncompatibleKeys {
  const { strict = true } = ownOptions('loadShared', options, ['strict']);
  if (typeof strict !== 'boolean') throw argumentError('loadShared', 'strict', 'a boolean', strict);
  const given = tokensOf(shared); // getters run in the program's scope
  return ownScope(() => {
    const targets = new Map(tensorsOf(module));
    const keys: IncompatibleKeys = { missingKeys: [], unexpectedKeys: [] };
    for (const name of given.keys()) if (!targets.has(name)) keys.unexpectedKeys.push(name);
    const misfits: string[] = [];
    const pairs: [target: Tensor, value: Tensor][] = [];
    for (const [name, target] of targets) {
      const token = given.get(name);
      if (token === undefined) keys.missingKeys.push(name);
      else if (!isToken(token)) misfits.push(`${name}: expected a token, got ${describe(token)}`);
      else {
        const value = fromShared(token);
        const reason = misfit(target, value, true);
        if (reason === null) pairs.push([target, value]);
        else misfits.push(`${name}: ${reason}`);
      }
    }
    refuseMisfits('loadShared', module, keys, misfits, strict);
    inGradMode(false, () => {
      for (const [target, value] of pairs) assigned(target, value);
    });
    return keys;
  }, false);
}
