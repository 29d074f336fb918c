/** Autograd: leaves, results, backward, gradients as handles, graphs that outlive the handles they came from. */
'use strict';

const { Impl } = require('../model.cjs');
const { same, contiguousStrides } = require('../shapes.cjs');
const { text, isPlain, isWritable, isFloat, isSmall } = require('../world.cjs');
const { coo } = require('./sparse.cjs');

const isGraph = (impl) => impl.graph !== null;
const isLeaf = (impl) => impl.graph?.leaf === true;
const isResult = (impl) => impl.graph !== null && !impl.graph.leaf;
/** Leaves that only `embedding` uses: their gradients are sparse. */
const isTable = (impl) => impl.graph?.table === true;
const isUsable = (impl) => isGraph(impl) && !isTable(impl);

/** A node's record of a tensor, to detect later writes. */
const save = (impl) => {
  impl.version.saved = true;
  return { version: impl.version, count: impl.version.count };
};

function computed(shape, dtype, node, from) {
  const impl = from ?? Impl.fresh(shape, dtype);
  impl.graph = { leaf: false, node };
  return impl;
}

/** Nodes and leaves that a backward from `root` reaches. */
function reach(root) {
  const nodes = new Set();
  const leaves = new Set();
  const visit = (graph, impl) => {
    if (graph.leaf) leaves.add(impl);
    else if (!nodes.has(graph.node)) {
      nodes.add(graph.node);
      for (const input of graph.node.inputs) visit(input.graph, input.impl);
    }
  };
  visit(root.graph, root);
  return { nodes: [...nodes], leaves: [...leaves] };
}

/** An edge to the current state of a tensor: writes change its graph. */
const edge = (impl) => ({ impl, graph: impl.graph });
const edges = (...impls) => impls.filter(isGraph).map(edge);

/** The counters of gradients that a backward adds to in place. */
const added = (leaves) => leaves.filter(({ grad }) => grad !== null).map(({ grad }) => grad.version);

/**
 * Whether a backward finds all saved tensors unchanged. null if unknown: an earlier failure left a node or a counter
 * unknown, or a node saved a gradient that the same backward adds to in place. The engine adds as soon as the leaf's last
 * use is done, so whether the node still finds the old values depends on the order of the nodes.
 */
function willSucceed(nodes, leaves) {
  if (nodes.some((node) => node.spoiled)) return null;
  if (nodes.some((node) => node.freed && node.saved.length > 0)) return false;
  const saved = nodes.flatMap((node) => node.saved);
  const old = saved.filter(({ version, count }) => version.count !== count);
  if (old.length > 0) return old.every(({ version, count }) => isDoubtful(version, count)) ? null : false;
  const changing = new Set(added(leaves));
  return saved.some(({ version }) => changing.has(version)) ? null : true;
}

/** A failed backward may have added to a gradient, so earlier saved versions of it may or may not match. */
function doubt(version) {
  const { count } = version;
  const from = version.doubt?.to === count ? version.doubt.from : count;
  version.count++;
  version.doubt = { from, to: count + 1 };
}
const isDoubtful = ({ doubt, count: now }, count) => doubt?.to === now && count >= doubt.from && count < now;

/**
 * A sum of sparse gradients: new storages with space for the entries of both sides. Both have the same entries here, so they
 * are merged and their number stays.
 */
function sparseSum(leaf) {
  const { entries } = leaf.graph;
  const { storages } = coo([leaf.shape[0]], leaf.dtype, entries, { room: 2 * entries });
  storages[1].bytes *= leaf.shape[1];
  return storages;
}

/** Adds a backward's result to a leaf. `aliased`: the storage of a gradient that reaches the leaf unchanged. */
function accumulate(leaf, nodes, aliased) {
  if (leaf.grad !== null) {
    leaf.grad.version.count++;
    if (leaf.graph.table) leaf.grad.storages = sparseSum(leaf); // the tensor stays
  } else if (leaf.graph.table) {
    const { entries, index } = leaf.graph;
    // A single use passes its indices on unchanged; several are summed first.
    const uses = nodes.filter((node) => node.inputs.some(({ impl }) => impl === leaf)).length;
    const grad = coo(leaf.shape, leaf.dtype, entries, { indices: index, coalesced: false });
    grad.storages[1].bytes *= leaf.shape[1];
    if (uses > 1) grad.storages = sparseSum(leaf);
    grad.ofGrad = true;
    leaf.grad = grad;
  } else if (aliased !== undefined) {
    leaf.grad = aliased.view(leaf.shape, contiguousStrides(leaf.shape));
    leaf.grad.isGrad = true;
  } else {
    leaf.grad = Impl.fresh(leaf.shape, leaf.dtype, { strides: null });
    leaf.grad.isGrad = true;
  }
}

function backward(world, handle, options, printed, aliased) {
  const { nodes, leaves } = reach(handle.impl);
  const fine = willSucceed(nodes, leaves);
  if (fine === null) return false;
  const retain = options.retainGraph === true;
  if (fine) {
    handle.tensor.backward(options);
    for (const node of nodes) if (!retain) node.freed = true;
    for (const leaf of leaves) accumulate(leaf, nodes, aliased);
    return world.say(printed);
  }
  // libtorch decides how far it gets, so the gradients are reset. A sparse one may have changed under its handles.
  if (leaves.some(isTable)) return false;
  const held = leaves.map((leaf) => [...world.model.handles].find((h) => h.impl === leaf && h.tensor !== null));
  if (held.includes(undefined)) return false;
  world.refused(printed, 'ERR_TORCH_RUNTIME', () => handle.tensor.backward(options));
  for (const node of nodes) node.spoiled = true;
  for (const version of new Set(added(leaves))) doubt(version);
  for (const { tensor, impl } of held) {
    tensor.grad = null;
    impl.grad = null;
  }
  return true;
}

const unary = {
  exp: (_impl, result) => [save(result)],
  relu: (_impl, result) => [save(result)],
  square: (impl) => [save(impl)],
  neg: () => [],
};

module.exports = [
  {
    name: 'leaf',
    weight: 3,
    run(world, draw) {
      const shape = [1 + draw.below(5), 1 + draw.below(5)];
      const dtype = draw.pick(['float32', 'float64']);
      const impl = Impl.fresh(shape, dtype);
      impl.graph = { leaf: true };
      const tensor = world.torch.ones(shape, { dtype, requiresGrad: true });
      return world.result(`torch.ones(${text(shape)}, ${dtype}, requiresGrad)`, tensor, impl);
    },
  },
  ...Object.keys(unary).map((name) => ({
    name,
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, isUsable);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const node = { inputs: edges(impl), saved: [] };
      const result = computed(impl.shape, impl.dtype, node);
      node.saved = unary[name](impl, result);
      return world.result(`#${number}.${name}()`, tensor[name](), result);
    },
  })),
  {
    name: 'mul in a graph',
    weight: 3,
    run(world, draw) {
      const a = world.some(draw, isUsable);
      if (a === null) return false;
      const fits = (i) => (isUsable(i) || isPlain(i)) && same(i.shape, a.impl.shape) && i.dtype === a.impl.dtype;
      const b = world.some(draw, fits);
      // Each factor is kept for the gradient of the other.
      const saved = [save(b.impl), ...(isGraph(b.impl) ? [save(a.impl)] : [])];
      const result = computed(a.impl.shape, a.impl.dtype, { inputs: edges(a.impl, b.impl), saved });
      return world.result(`#${a.number}.mul(#${b.number})`, a.tensor.mul(b.tensor), result);
    },
  },
  {
    name: 'add in a graph',
    weight: 2,
    run(world, draw) {
      const a = world.some(draw, isUsable);
      if (a === null) return false;
      const fits = (i) => isUsable(i) && same(i.shape, a.impl.shape) && i.dtype === a.impl.dtype;
      const b = world.some(draw, fits);
      const result = computed(a.impl.shape, a.impl.dtype, { inputs: edges(a.impl, b.impl), saved: [] });
      return world.result(`#${a.number}.add(#${b.number})`, a.tensor.add(b.tensor), result);
    },
  },
  {
    name: 'write into a result',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, isResult);
      if (handle === null || handle.impl.graph.node.isView) return false;
      const { impl, tensor, number } = handle;
      tensor.add_(1);
      impl.version.count++;
      impl.graph = { leaf: false, node: { inputs: [edge(impl)], saved: [] } };
      return world.say(`#${number}.add_(1)`);
    },
  },
  {
    name: 'optimizer step',
    weight: 2,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isLeaf(impl) && impl.grad?.layout === 'strided');
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      world.torch.scope(() => world.torch.noGrad(() => tensor.sub_(tensor.grad, { alpha: 0.01 })));
      impl.version.count++;
      return world.say(`noGrad: #${number}.sub_(#${number}.grad)`);
    },
  },
  {
    name: 'embedding',
    weight: 2,
    run(world, draw) {
      const [rows, columns, entries] = [4, 1 + draw.below(3), 1 + draw.below(3)];
      const index = Impl.fresh([entries], 'int64');
      index.storage.readonly = true;
      const indices = world.torch.tensor(new BigInt64Array(entries));
      world.result('indices', indices, index);
      const table = Impl.fresh([rows, columns], 'float32');
      table.graph = { leaf: true, table: true, entries, index: index.storage };
      const weight = world.torch.ones([rows, columns], { requiresGrad: true });
      world.result('weight, requiresGrad', weight, table);
      for (let uses = 1 + draw.below(2); uses > 0; uses--) {
        const looked = world.torch.embedding(weight, indices, -1, false, true);
        // The node keeps the table for its size, and writes to it are counted too.
        const node = { inputs: edges(table), saved: [save(index), save(table)] };
        const twice = { inputs: [{ graph: { leaf: false, node } }], saved: [] };
        world.result('embedding(…, sparse) × 2', looked.mul(2), computed([entries, columns], 'float32', twice));
        looked.dispose();
      }
      return true;
    },
  },
  {
    name: 'backward',
    weight: 6,
    run(world, draw) {
      const handle = world.some(draw, isResult);
      if (handle === null) return false;
      const { impl, number } = handle;
      const retainGraph = draw.once(3);
      // The sum is a separate node, freed with the scope.
      const { torch } = world;
      const sum = handle.tensor.sum();
      const root = { tensor: sum, impl: computed([], impl.dtype, { inputs: edges(impl), saved: [] }) };
      const printed = `#${number}.sum().backward(${text({ retainGraph })})`;
      const done = backward(world, root, retainGraph ? { retainGraph } : {}, printed);
      torch.disposeAll(sum);
      return done;
    },
  },
  {
    name: 'backward with a gradient',
    weight: 2,
    run(world, draw) {
      const leaf = world.some(draw, (impl) => isLeaf(impl) && !isTable(impl));
      if (leaf === null) return false;
      const { impl, tensor, number } = leaf;
      const count = impl.numel;
      const given = world.some(draw, (i) => isPlain(i) && i.contiguous && i.dtype === impl.dtype && i.numel === count);
      if (given === null || given.impl.version.saved) return false;
      // The old gradient may overlap with the added one.
      if (impl.grad?.storages.includes(given.impl.storage)) return false;
      const view = tensor.view(given.impl.shape);
      const node = { inputs: edges(impl), saved: [] };
      const root = { tensor: view, impl: computed(given.impl.shape, impl.dtype, node) };
      // A view's backward passes the gradient on unchanged, so the leaf's gradient shares its storage.
      const printed = `#${number}.view(…).backward({ gradient: #${given.number} })`;
      const done = backward(world, root, { gradient: given.tensor }, printed, given.impl);
      if (done) given.impl.isGrad = true;
      view.dispose();
      return done;
    },
  },
  {
    name: 'read grad',
    weight: 4,
    run(world, draw) {
      const handle = world.some(draw, isLeaf);
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const grad = tensor.grad;
      if (impl.grad !== null) return world.result(`#${number}.grad`, grad, impl.grad);
      if (grad !== null) throw new Error(`#${number} has a gradient that the model does not know`);
      return world.say(`#${number}.grad is null`);
    },
  },
  {
    name: 'set grad',
    weight: 2,
    run(world, draw) {
      const leaf = world.some(draw, isLeaf);
      if (leaf === null) return false;
      const { impl, tensor, number } = leaf;
      const fits = (i) => isWritable(i) && i.contiguous && same(i.shape, impl.shape) && i.dtype === impl.dtype;
      const value = draw.below(2) === 0 || isTable(impl) ? null : world.some(draw, fits);
      tensor.grad = value?.tensor ?? null;
      impl.grad = value?.impl ?? null;
      if (value !== null) value.impl.isGrad = true;
      return world.say(`#${number}.grad = ${value === null ? 'null' : `#${value.number}`}`);
    },
  },
  {
    name: 'without a graph',
    weight: 1,
    run(world, draw) {
      const handle = world.some(draw, (impl) => isUsable(impl) && isFloat(impl) && isSmall(impl));
      if (handle === null) return false;
      const { impl, tensor, number } = handle;
      const made = world.torch.noGrad(() => tensor.mul(2));
      return world.result(`noGrad: #${number}.mul(2)`, made, Impl.fresh(impl.shape, impl.dtype));
    },
  },
];
