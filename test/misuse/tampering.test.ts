/** Programs that change prototypes of the library, Object or Array: an error with a code, or the right result. */
import { ask, program } from '../support/child';
import { thrown, untyped } from '../support/torch';

/** The result of a use: its elements, or the code of its error. */
const PRELUDE = `
  const outcome = (fn) => { try { const r = fn(); return r instanceof torch.Tensor ? r.toArray() : r; } catch (e) { return e.code ?? e.constructor.name + ': ' + e.message; } };
`;
const outcomes = (source: string) => ask(PRELUDE + source);

test('deleted and replaced methods of Tensor.prototype', async () => {
  const [deleted, replaced, hidden, others] = await outcomes(`
    const t = torch.tensor([1, 2]);
    const { add, mul } = torch.Tensor.prototype;
    delete torch.Tensor.prototype.add;
    const deleted = outcome(() => torch.add(t, 1));
    torch.Tensor.prototype.mul = function (...args) { return mul.apply(this, args).neg(); };
    const replaced = outcome(() => t.mul(2));
    for (const name of ['dispose', 'to', 'view', 'index', 'copy_', 't', 'toString', 'item', '_describe']) delete torch.Tensor.prototype[name];
    const hidden = outcome(() => torch.scope(() => torch.add(t, t)));
    torch.disposeAll.call(null, []);
    const others = outcome(() => torch.mm(t, t));
    answer([deleted, replaced, hidden, others]);
  `);
  expect({ deleted, replaced, hidden, others }).toEqual({
    deleted: [2, 3],
    replaced: [-2, -4],
    hidden: [2, 4],
    others: 'ERR_TORCH_RUNTIME',
  });
});

test('properties of Object.prototype are not options', async () => {
  const results = await outcomes(`
    const t = torch.tensor([[1, 2], [3, 4]]);
    const uses = [
      () => t.sum({}), () => t.sum([1]), () => torch.zeros([2], {}), () => torch.tensor([1.5]), () => torch.add(t, t, {}),
      () => torch.full([2], 7), () => torch.ones([1], { requiresGrad: false }), () => t.max(1).values, () => t.at(0),
      () => { const a = torch.ones([1], { requiresGrad: true }); a.sum().backward(); return a.grad; },
    ];
    const before = uses.map(outcome).map(String);
    Object.assign(Object.prototype, { dim: 0, keepdim: true, dtype: 'int64', device: 'nowhere', alpha: 5, out: t, input: 3,
      other: 4, requiresGrad: true, fillValue: 9, gradient: 1, _handle: 67108865, _guard: 1, re: 1, im: 2 });
    const after = uses.map(outcome).map(String);
    const forged = [() => torch.add({}, 1), () => t.add({}), () => t.add({ a: 1, b: 2 }), () => torch.Tensor.prototype.add.call({}, 1)]
      .map(outcome);
    for (const name of Object.keys(Object.prototype)) delete Object.prototype[name];
    answer({ before, after, forged });
  `);
  expect(results.after).toEqual(results.before);
  for (const code of results.forged) expect(['ERR_TORCH_OVERLOAD', 'ERR_TORCH_ARGUMENT']).toContain(code);
});

test('setters on Object.prototype and Array.prototype, and another array iterator', async () => {
  const results = await outcomes(`
    const t = torch.tensor([1, 2]);
    const uses = [
      () => torch.cat([t, t]), () => t.add(1), () => torch.stack([t, t], 0), () => t.view([2, 1]), () => torch.tensor([[1], [2]]),
      () => t.sort().values, () => torch.einsum('i,i->', [t, t]), () => t.at(torch.tensor([0n, 1n])), () => torch.zeros([2]),
      () => torch.scope(() => [t.add(1)])[0], () => t.unbind()[1],
    ];
    const before = uses.map(outcome).map(String);
    const tampered = {};
    const attempt = (name, tamper, restore) => { const got = new Array(uses.length).fill(''); tamper(); for (let i = 0; i < uses.length; i++) got[i] = outcome(uses[i]); restore(); tampered[name] = got.map(String); };
    for (const at of ['0', '1']) {
      attempt('setter ' + at,
        () => Object.defineProperty(Array.prototype, at, { set() {}, get() { return undefined; }, configurable: true }),
        () => delete Array.prototype[at]);
    }
    const { [Symbol.iterator]: iterator, map, push } = Array.prototype;
    attempt('iterator', () => { Array.prototype[Symbol.iterator] = function* () {}; }, () => { Array.prototype[Symbol.iterator] = iterator; });
    attempt('throwing map', () => { Array.prototype.map = () => { throw new RangeError('map'); }; }, () => { Array.prototype.map = map; });
    attempt('handle setter', () => Object.defineProperty(Object.prototype, '_handle', { set() {}, configurable: true }), () => delete Object.prototype._handle);
    const again = uses.map(outcome).map(String);
    answer({ before, tampered, again });
  `);
  const { before, tampered, again } = results;
  expect(again).toEqual(before);
  // Each use gives the same result as without the change, or throws. The exception is accessors at the indices of all
  // arrays, which receive the elements of every array that is filled one by one: then the process only must not crash.
  for (const [name, got] of Object.entries<string[]>(tampered)) {
    if (name.startsWith('setter')) continue;
    got.forEach((text, i) => {
      const fine = text === before[i] || /ERR_TORCH_|Error: /.test(text);
      expect({ name, use: i, text, fine }).toEqual({ name, use: i, text, fine: true });
    });
  }
});

test('Symbol.hasInstance of Tensor that accepts everything or nothing', async () => {
  const results = await outcomes(`
    const t = torch.tensor([1, 2]);
    const set = (value) => Object.defineProperty(torch.Tensor, Symbol.hasInstance, { value, configurable: true });
    set(() => true);
    const all = [() => t.add({}), () => torch.add({}, 1), () => torch.cat([{}, 5]), () => torch.Tensor.prototype.neg.call({}), () => torch.scope(() => ({ a: 1 })).a].map(outcome);
    const fine = outcome(() => t.add(1).item === undefined);
    set(() => false);
    const none = [() => torch.add(t, t) && 'works', () => torch.add({}, t), () => t.add(t) && 'works'].map(outcome);
    delete torch.Tensor[Symbol.hasInstance];
    answer({ all, none, fine, after: outcome(() => t.add(1)) });
  `);
  for (const one of results.all.slice(0, 4)) expect(one).toMatch(/^ERR_TORCH_/);
  expect(results.none[1]).toMatch(/^ERR_TORCH_/);
  for (const i of [0, 2]) expect(results.none[i]).toMatch(/^(works|ERR_TORCH_ARGUMENT)$/);
  expect(results.after).toEqual([2, 3]);
});

test('arguments whose conversion throws: the error passes, nothing leaks', async () => {
  const { thrown, left } = await ask(`
    const t = torch.ones([2]);
    class Mine extends Error {}
    const bomb = new Proxy({}, { get() { throw new Mine('get'); }, getPrototypeOf() { throw new Mine('prototype'); }, has() { throw new Mine('has'); }, ownKeys() { throw new Mine('keys'); } });
    const list = [t, 1]; Object.defineProperty(list, '1', { get() { throw new Mine('element'); } });
    const options = { get dim() { throw new Mine('option'); } };
    const value = { valueOf() { throw new Mine('valueOf'); }, [Symbol.toPrimitive]() { throw new Mine('toPrimitive'); } };
    const complex = { get re() { throw new Mine('re'); }, im: 1 };
    const iterable = { *[Symbol.iterator]() { yield t; throw new Mine('iterator'); } };
    const disposing = [t, 1]; let victim = torch.ones([3]);
    Object.defineProperty(disposing, '0', { get() { victim.dispose(); return victim; } });
    const before = counts();
    const uses = [() => t.add(bomb), () => torch.cat(list), () => t.sum(options), () => t.add(value), () => t.mul(complex), () => torch.cat(iterable),
      () => torch.zeros(list), () => torch.tensor(list), () => t.at(bomb), () => t.set([0], bomb), () => torch.scope(() => { torch.ones([5]); return bomb; }),
      () => torch.cat(disposing), () => torch.disposeAll(bomb), () => torch.ops.aten.add.Tensor(t, bomb), () => torch.fromTypedArray(bomb), () => torch.TensorLogger.start(bomb)];
    const thrown = uses.map((use) => { try { use(); return 'nothing'; } catch (e) { return e instanceof Mine ? 'Mine' : e.code ?? String(e); } });
    const after = counts();
    answer({ thrown, left: [after.tensors - before.tensors + 1, after.bytes - before.bytes + 12] });
  `);
  for (const one of thrown) expect(one).toMatch(/^(Mine|ERR_TORCH_\w+|TypeError.*)$/);
  expect(thrown.filter((one: string) => one === 'Mine').length).toBeGreaterThan(8);
  expect(left).toEqual([0, 0]);
});

test('an argument that disposes another one while it is read gives an error, not a crash', async () => {
  const { code, answer } = await program(`
    const t = torch.ones([2]);
    const options = { get alpha() { t.dispose(); return 2; } };
    let code;
    try { torch.add(t, t, options); } catch (e) { code = e.code; }
    answer(code);
  `);
  expect({ code, answer }).toEqual({ code: 0, answer: 'ERR_TORCH_DISPOSED' });
});

test('a list that contains itself is described in the error', () => {
  const list: unknown[] = [];
  list.push(list);
  const calls = [
    () => untyped.safetensors.serialize({ list }),
    () => untyped.load(list),
    () => untyped.setNumThreads(list),
    () => untyped.fromTypedArray(list),
    () => new untyped.optim.SGD(list, { lr: 1 }),
  ];
  for (const call of calls) {
    const { code, message } = thrown(call);
    expect(code).toBe('ERR_TORCH_ARGUMENT');
    expect(message).toMatch(/got an array of 1/);
    expect(message.length).toBeLessThan(500);
  }
});
