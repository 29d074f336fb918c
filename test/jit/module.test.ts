/** A model as a part of a Module: trained, copied, saved and released with it, as in Python. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { python3 } from '../support/python3';
import { codeOf, LIB, ROOT, settled, thrown, torch } from '../support/torch';
import { MODELS_MS, makeModels, model, pathOf } from './models';

let folder: string;
beforeAll(async () => {
  await makeModels();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'jit-module-'));
}, MODELS_MS);
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

class Tuned extends torch.nn.Module {
  body = model('tied');
  head = new torch.nn.Linear(4, 2);
  override forward(x: typeof torch.Tensor.prototype) {
    return this.head.forward(this.body.forward(x));
  }
}

const OWN = ['first.weight', 'first.bias', 'norm.weight', 'norm.bias', 'last.bias'];
const MOVING = ['norm.running_mean', 'norm.running_var', 'norm.num_batches_tracked'];

test('a Module has the parameters, buffers and parts of a model in its property, shared ones once', () => {
  const net = new Tuned();
  expect(net.namedParameters().map(([name]) => name)).toEqual([
    ...OWN.map((name) => `body.${name}`),
    ...['head.weight', 'head.bias'],
  ]);
  expect(net.parameters()).toEqual(net.parameters()); // the same objects each time
  expect(net.parameters().every((parameter) => parameter instanceof torch.nn.Parameter)).toBe(true);
  expect(net.namedBuffers().map(([name]) => name)).toEqual(['scale', ...MOVING].map((name) => `body.${name}`));
  expect(net.body.parameterNames()).toEqual(OWN);
  expect(net.body.parameters()).toHaveLength(OWN.length);
  const state = [
    'scale',
    'first.weight',
    'first.bias',
    'norm.weight',
    'norm.bias',
    ...MOVING,
    'last.weight',
    'last.bias',
  ];
  expect(Object.keys(net.body.stateDict())).toEqual(state);
  expect(Object.keys(net.stateDict())).toEqual([...state.map((key) => `body.${key}`), 'head.weight', 'head.bias']);
  expect(net.namedModules().map(([name]) => name)).toEqual([
    '',
    'body',
    'body.first',
    'body.norm',
    'body.drop',
    'body.last',
    'head',
  ]);
  expect(String(net)).toContain('(norm): RecursiveScriptModule(original_name=BatchNorm1d)');
  net.dispose();
});

test('the mode of the whole, and of one part, is that of the model', () => {
  const net = new Tuned();
  net.eval();
  expect(net.body.isTraining()).toBe(false);
  const x = torch.ones([3, 4]);
  expect(torch.equal(net.forward(x), net.forward(x))).toBe(true);
  net.train();
  const norm = net.getSubmodule('body.norm').eval();
  expect([net.body.isTraining(), norm.training, net.getSubmodule('body.drop').training]).toEqual([true, false, true]);
  const before = net.getBuffer('body.norm.running_mean').clone();
  torch.manualSeed(1);
  expect(torch.equal(net.forward(x), net.forward(x))).toBe(false); // the dropout draws
  expect(torch.equal(net.getBuffer('body.norm.running_mean'), before)).toBe(true);
  norm.train();
  net.forward(x);
  expect(torch.equal(net.getBuffer('body.norm.running_mean'), before)).toBe(false);
  net.dispose();
});

test('training changes the model, whose file Python and jit.load read', async () => {
  const net = new Tuned();
  const optimizer = new torch.optim.SGD(net.parameters(), { lr: 0.1, momentum: 0.9 });
  const x = torch.randn([16, 4]);
  const before = net.body.stateDict()['last.weight']!.clone();
  const losses: number[] = [];
  for (let step = 0; step < 20; step++) {
    optimizer.zeroGrad();
    const loss = net.forward(x).square().mean();
    loss.backward();
    optimizer.step();
    losses.push(loss.item() as number);
  }
  expect(losses.at(-1)!).toBeLessThan(losses[0]! / 2);
  const trained = net.body.stateDict();
  expect(torch.equal(trained['last.weight']!, before)).toBe(false);
  expect(torch.equal(trained['last.weight']!, trained['first.weight']!)).toBe(true);
  net.eval();
  const output = torch.noGrad(() => net.body.forward(x));
  const [file, given, result] = ['tied.pt', 'x.pt', 'result.pt'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  net.body.save(file);
  torch.jit.save(net.body, `${file}2`);
  expect(fs.readFileSync(`${file}2`)).toEqual(fs.readFileSync(file));
  const back = torch.jit.load(file);
  expect(back.isTraining()).toBe(false);
  expect(
    torch.equal(
      torch.noGrad(() => back.forward(x)),
      output,
    ),
  ).toBe(true);
  torch.save(x, given);
  const script = path.join(ROOT, 'test/jit/resume.py');
  expect(await python3([script, file, given, result])).toMatchObject({ code: 0, stderr: '' });
  const python = torch.load(result) as { output: typeof x; state: Record<string, typeof x> };
  expect(torch.equal(python.output, output)).toBe(true);
  expect(Object.keys(python.state)).toEqual(Object.keys(trained));
  for (const [key, value] of Object.entries(trained)) expect(torch.equal(python.state[key]!, value)).toBe(true);
  net.dispose();
});

test('state dicts go into a model and out of it, and hooks run around its forward', () => {
  const [from, to] = [model('tied'), model('tied')];
  torch.noGrad(() => from.parameters().forEach((parameter, i) => void parameter.fill_(i)));
  expect(to.loadStateDict(from.stateDict())).toEqual({ missingKeys: [], unexpectedKeys: [] });
  expect(to.parameters().map((parameter) => parameter.mean().item())).toEqual([0, 1, 2, 3, 4]);
  const { scale, ...rest } = from.stateDict();
  expect(codeOf(() => to.loadStateDict(rest))).toBe('ERR_TORCH_ARGUMENT');
  expect(to.loadStateDict(rest, { strict: false }).missingKeys).toEqual(['scale']);
  expect(scale!.item()).toBe(1);
  const seen: unknown[] = [];
  const hook = to.asModule().registerForwardHook((module, inputs, result) => {
    seen.push(module === to.asModule(), inputs.length, result.shape);
    return result.add(1);
  });
  const x = torch.ones([2, 4]);
  to.eval();
  const changed = to.forward(x);
  expect(seen).toEqual([true, 1, [2, 4]]);
  hook.remove();
  expect(torch.equal(to.forward(x).add(1), changed)).toBe(true);
  expect(seen).toHaveLength(3);
});

test('a deep copy has a model of its own, also of a model that is gone', () => {
  const net = new Tuned();
  const copy = net.deepCopy();
  expect(copy.body).not.toBe(net.body);
  expect(copy.parameters().every((parameter) => parameter.isLeaf && parameter.requiresGrad)).toBe(true);
  const x = torch.ones([3, 4]);
  net.eval();
  copy.eval();
  const output = net.forward(x);
  expect(torch.equal(copy.forward(x), output)).toBe(true);
  torch.noGrad(() => copy.parameters().forEach((parameter) => void parameter.zero_()));
  expect(torch.equal(net.forward(x), output)).toBe(true);
  expect(torch.equal(copy.forward(x), torch.zeros([3, 2]))).toBe(true);
  const frozen = torch.jit.freeze(net.body);
  const alone = frozen.deepCopy();
  const expected = frozen.forward(x);
  frozen.dispose();
  expect(torch.equal(alone.forward(x), expected)).toBe(true);
  expect(thrown(() => net.getSubmodule('body.norm').deepCopy())).toMatchObject({ code: 'ERR_TORCH_ARGUMENT' });
  const both = Object.assign(new torch.nn.Module(), { model: net.body, module: net.body.asModule() }).deepCopy();
  expect(both.module).toBe(both.model.asModule());
  const file = path.join(folder, 'average.pt');
  torch.jit.save(new torch.optim.swaUtils.AveragedModel(net.body.asModule()).module, file);
  expect(torch.equal(torch.jit.load(file).stateDict()['last.weight']!, net.body.stateDict()['last.weight']!)).toBe(
    true,
  );
  const part = net.getSubmodule('body.norm');
  expect(thrown(() => torch.jit.save(part, file)).message).toContain('jit.save: expected a model or a Module around');
  const average = new torch.optim.swaUtils.AveragedModel(net);
  average.updateParameters(net);
  expect(average.parameters()).toHaveLength(net.parameters().length);
});

test('tensors that the code of a model replaces are those of its Module, and others stay the same objects', async () => {
  const whole = model('moving');
  const module = whole.asModule();
  const [steps, bias] = [module.getBuffer('steps'), module.getParameter('last.bias')];
  whole.forward(torch.full([3, 2], 2));
  expect(module.getBuffer('mean').toArray()).toEqual([1, 1]);
  await whole.async.forward(torch.full([3, 2], 2));
  expect(module.stateDict().mean!.toArray()).toEqual([1.5, 1.5]);
  expect([module.getBuffer('steps') === steps, module.getParameter('last.bias') === bias]).toEqual([true, true]);
  module.loadStateDict({ ...module.stateDict(), mean: torch.full([2], 7) });
  expect(whole.namedBuffers().mean!.toArray()).toEqual([7, 7]);
  const names = () => module.namedParameters().map(([name]) => name);
  expect(names()).toEqual(['weight', 'last.weight', 'last.bias']);
  whole.call('put', null);
  expect(names()).toEqual(['last.weight', 'last.bias']);
  whole.call('put', torch.full([2], 3));
  expect(names()).toEqual(['weight', 'last.weight', 'last.bias']);
  expect(module.getParameter('weight').toArray()).toEqual([3, 3]);
});

test('containers, registerModule and AveragedModel take a model itself', () => {
  const { Linear, Module, ModuleDict, ModuleList, Sequential } = torch.nn;
  const [body, x] = [model('tied'), torch.ones([3, 4])];
  const head = new Linear(4, 2);
  const net = new Sequential(body, head);
  expect(net.at(0)).toBe(body.asModule());
  net.eval();
  expect(body.isTraining()).toBe(false);
  expect(torch.equal(net.forward(x), head.forward(body.forward(x)))).toBe(true);
  expect(Object.keys(net.stateDict())).toContain('0.first.weight');
  const list = new ModuleList([body]).append(body).insert(0, head).set(1, body);
  expect([...list]).toEqual([head, body.asModule(), body.asModule()]);
  expect([...new ModuleDict({ body }).values(), ...new Sequential({ body })]).toEqual([list.at(1), list.at(1)]);
  const registered = new Module();
  registered.registerModule('body', body);
  registered.registerModule('body', body); // the same name again
  expect(registered.parameters()).toEqual(body.asModule().parameters());
  const averaged = new torch.optim.swaUtils.AveragedModel(body);
  averaged.updateParameters(body);
  expect(torch.equal(averaged.module.parameters()[0]!, body.asModule().parameters()[0]!)).toBe(true);
  for (const wrong of [body.forward, 'body']) {
    expect(thrown(() => new Sequential(wrong as never)).message).toContain("'modules[0]': expected a Module, got");
    expect(thrown(() => registered.registerModule('other', wrong as never)).message).toContain('a Module or null');
  }
  averaged.dispose();
  net.dispose();
  expect(body.disposed).toBe(true);
});

test('nothing can be added to the Module of a model, since its code would not use it', () => {
  const module = model('tied').asModule();
  const refused = { code: 'ERR_TORCH_ARGUMENT', argument: 'this' };
  expect(thrown(() => module.registerBuffer('more', torch.ones([1])))).toMatchObject(refused);
  expect(thrown(() => module.registerParameter('more', null))).toMatchObject(refused);
  expect(thrown(() => module.addModule('more', new torch.nn.Linear(1, 1)))).toMatchObject(refused);
  const part = module.getSubmodule('norm') as unknown as Record<string, unknown>;
  part.label = 'anything else';
  expect(module.parameters()).toHaveLength(OWN.length);
  part.more = new torch.nn.Linear(1, 1);
  expect(thrown(() => module.parameters()).message).toBe(
    'RecursiveScriptModule.more: expected a property of a Module around the model, whose code is fixed, got a Linear',
  );
  module.dispose();
});

test('names that every object of JavaScript has are names like others', () => {
  const module = model('named').asModule();
  const names = ['__proto__', 'constructor'];
  expect(Object.keys(module.stateDict())).toEqual(names);
  expect(module.loadStateDict(module.stateDict())).toEqual({ missingKeys: [], unexpectedKeys: [] });
  const shared = module.share();
  expect(Object.keys(shared)).toEqual(names);
  for (const token of Object.values(shared)) token.dispose();
});

test('a model without elements takes no tensors in place of its own', () => {
  const empty = torch.jit.load(pathOf('tied'), { device: 'meta' });
  const dict = model('tied').stateDict();
  const error = thrown(() => empty.asModule().loadStateDict(dict, { assign: true }));
  expect(error.message).toContain('scale: expected device meta, got cpu');
});

test('everything is released with the Module, or with the model, and a scope does not take it', () => {
  const before = settled();
  const net = torch
    .scope(() => {
      const made = new Tuned();
      torch.ones([2, 4]); // of the scope
      return { made: new torch.nn.Sequential(made) };
    })
    .made.at(0) as Tuned;
  expect(net.body.disposed).toBe(false);
  net.forward(torch.ones([2, 4])).dispose();
  net.deepCopy().dispose();
  net.dispose();
  net.dispose();
  expect([net.body.disposed, codeOf(() => net.parameters())]).toEqual([true, 'ERR_TORCH_DISPOSED']);
  const alone = model('tied');
  alone.asModule().parameters();
  alone.dispose();
  expect(codeOf(() => alone.asModule())).toBe('ERR_TORCH_DISPOSED');
  const listed = model('tied');
  listed.asModule().parameters();
  torch.disposeAll([listed]); // frees the handles of its Module too
  torch.scope(() => {
    const scoped = model('tied');
    torch.disposeAll(scoped.stateDict());
    scoped.loadStateDict(scoped.stateDict());
  });
  expect(settled()).toEqual(before);
});

test('a model with changes that torch.run has recorded is neither saved nor copied', async () => {
  const file = path.join(folder, 'pending.pt');
  const m = model('tied');
  const { scale } = m.namedBuffers();
  await torch.run(() => {
    const changed = scale!.mul_(2);
    for (const use of [() => m.save(file), () => m.deepCopy()]) expect(codeOf(use)).toBe('ERR_TORCH_PENDING');
    return changed;
  });
  expect(fs.existsSync(file)).toBe(false);
  expect(m.deepCopy().namedBuffers().scale!.item()).toBe(2);
  await torch.run(() => m.save(file)); // nothing is recorded
  expect(torch.jit.load(file).namedBuffers().scale!.item()).toBe(2);
});

test('a file that cannot be written is as before, and the error is that of the write', async () => {
  const file = path.join(folder, 'full.pt');
  fs.writeFileSync(file, 'before');
  const program = `
    const torch = require(${JSON.stringify(LIB)});
    const model = torch.jit.load(process.argv[1]);
    const { code, syscall, message } = (() => { try { model.save(process.argv[2]); } catch (error) { return error; } })();
    console.log(JSON.stringify({ code, syscall, message }));
  `;
  model('tied').save(path.join(folder, 'whole.pt'));
  const limited = `trap '' XFSZ; ulimit -f 4; exec "$0" -e "$1" "$2" "$3"`;
  const args = ['-c', limited, process.execPath, program, path.join(folder, 'whole.pt'), file];
  const { code, stdout, stderr } = await run('/bin/bash', args);
  expect([code, stderr]).toEqual([0, '']);
  const message = `EFBIG: file too large, write '${file}'`;
  expect(JSON.parse(stdout)).toEqual({ code: 'EFBIG', syscall: 'write', message });
  expect(fs.readFileSync(file, 'utf8')).toBe('before');
  expect(fs.readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  // libtorch would write it, and refuse to read it.
  const optimised = torch.jit.optimizeForInference(model('service'));
  for (const one of [optimised, optimised.deepCopy(), torch.jit.freeze(optimised)]) {
    expect(codeOf(() => one.save(file))).toBe('ERR_TORCH_MODEL');
  }
  expect(fs.readFileSync(file, 'utf8')).toBe('before');
  expect(thrown(() => torch.jit.save({} as never, file))).toMatchObject({
    code: 'ERR_TORCH_ARGUMENT',
    argument: 'model',
  });
});
