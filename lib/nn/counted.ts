/** Methods of modules and containers that refuse extra arguments. */
import { limitMethods } from '../errors/arity';
import { Dict, List, Modules } from './containers';
import { Module } from './module';
import { ParameterList } from './parameter-containers';

limitMethods(Module, {
  ...{ parameters: 1, namedParameters: 1, buffers: 1, namedBuffers: 1, modules: 0, namedModules: 1, children: 0 },
  ...{ namedChildren: 0, getSubmodule: 1, getParameter: 1, getBuffer: 1, train: 1, eval: 0, requiresGrad_: 1 },
  ...{ zeroGrad: 1, apply: 1, type: 1, float: 0, double: 0, half: 0, bfloat16: 0, cpu: 0, cuda: 1, deepCopy: 0 },
  ...{ registerBuffer: 3, registerParameter: 2, registerModule: 2, addModule: 2, stateDict: 1, loadStateDict: 2 },
  ...{ share: 0, loadShared: 2 },
});
limitMethods(Modules, { append: 1, extend: 1, insert: 2, pop: 1, set: 2 });
limitMethods(List, { at: 1 });
limitMethods(Dict, { get: 1, has: 1, set: 2, delete: 1, pop: 1, clear: 0, update: 1 });
limitMethods(ParameterList, { append: 1, extend: 1, set: 2 });
