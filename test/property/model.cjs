/**
 * The expected torch.memory(), in plain JavaScript. It does not read anything from the library: each step has its own rule
 * for the storages of its results.
 *
 * A handle (a Tensor in JavaScript) refers to an Impl (a tensor of libtorch, which several handles may share), and an Impl
 * has storages: one, or several if it is sparse. The figures count live handles, their distinct storages, and the bytes of
 * those.
 */
'use strict';

const { itemSizes, numelOf, contiguousStrides, isContiguous, overlaps } = require('./shapes.cjs');

class Storage {
  /** `borrowed`: a typed array's memory, which V8 counts already. */
  constructor(bytes, { device = 'cpu', borrowed = false } = {}) {
    this.pinned = false; // shared once: it can no longer grow
    this.bytes = bytes;
    this.device = device;
    this.borrowed = borrowed;
  }
  get grows() {
    return !this.borrowed && !this.pinned;
  }
  get charged() {
    return this.borrowed || this.device !== 'cpu' ? 0 : this.bytes;
  }
}

class Impl {
  /** Strides are null if the rule for the tensor does not determine them. */
  constructor({ storages, shape, dtype, strides = null, offset = 0, layout = 'strided', version = { count: 0 } }) {
    this.storages = storages;
    this.shape = shape;
    this.dtype = dtype;
    this.strides = strides;
    this.offset = offset;
    this.layout = layout;
    this.version = version; // shared by a tensor and its views, like autograd's count of writes
    this.graph = null; // { node } of a result of autograd, or { leaf: true }
    this.grad = null; // the Impl of a leaf's gradient
    this.base = null; // the Impl that this one is a view of: autograd holds it, even if set_ moves the view elsewhere
  }

  static fresh(shape, dtype, { device = 'cpu', strides = contiguousStrides(shape) } = {}) {
    const bytes = numelOf(shape) * itemSizes[dtype];
    return new Impl({ storages: [new Storage(bytes, { device })], shape, dtype, strides });
  }

  /** Another tensor on the same storage. */
  view(shape, strides, offset = this.offset, dtype = this.dtype) {
    const { storages, version } = this;
    const result = new Impl({ storages, shape, dtype, strides, offset, version });
    result.base = this.base ?? this;
    return result;
  }

  get storage() {
    return this.storages[0];
  }
  get numel() {
    return numelOf(this.shape);
  }
  get itemSize() {
    return itemSizes[this.dtype];
  }
  get contiguous() {
    return this.strides !== null && isContiguous(this.shape, this.strides);
  }
  /** false: each element has its own memory, so the tensor may be written to. */
  get overlap() {
    return this.strides === null ? null : overlaps(this.shape, this.strides);
  }
}

class Scope {
  constructor(parent) {
    this.parent = parent;
    this.open = true;
    this.children = new Set();
    this.handles = new Set();
    if (parent !== null) parent.children.add(this);
  }
  isInside(outer) {
    for (let scope = this; scope !== null; scope = scope.parent) if (scope === outer) return true;
    return false;
  }
}

class Handle {
  constructor(number, tensor, impl, scope) {
    this.number = number;
    this.tensor = tensor; // null once the program has dropped it
    this.impl = impl;
    this.scope = scope;
    this.guarded = false; // the collector frees it when the program drops it
    this.live = true;
  }
}

class Model {
  constructor(sharing) {
    this.sharing = sharing; // tokens, and the other thread
    this.handles = new Set(); // of this thread
    this.current = null; // the synchronous scope in force
    this.made = 0;
  }

  /** Handles of both threads. */
  get all() {
    return [...this.handles, ...this.sharing.there];
  }

  add(tensor, impl, scope) {
    const handle = new Handle(++this.made, tensor, impl, scope);
    // Outside every synchronous scope a tensor gets a guard, in an async scope too.
    handle.guarded = this.current === null;
    if (scope !== null) scope.handles.add(handle);
    this.handles.add(handle);
    return handle;
  }

  free(handle) {
    if (!handle.live) return;
    handle.live = false;
    handle.scope?.handles.delete(handle);
    this.handles.delete(handle);
  }

  /** Passes ownership to a scope, or to the collector (null). */
  move(handle, scope) {
    handle.scope?.handles.delete(handle);
    handle.scope = scope;
    if (scope === null) handle.guarded = true;
    else scope.handles.add(handle);
  }

  openScope(parent) {
    return new Scope(parent);
  }

  /** The tensors that a scope's result moves: those owned by the scope or one inside it. */
  moveOut(handles, scope) {
    for (const handle of handles) {
      if (handle.live && handle.scope?.isInside(scope)) this.move(handle, openAncestor(scope));
    }
  }

  closeScope(scope) {
    if (!scope.open) return;
    for (const child of [...scope.children]) this.closeScope(child);
    for (const handle of [...scope.handles]) this.free(handle);
    scope.open = false;
    scope.parent?.children.delete(scope);
    if (this.current === scope) this.current = scope.parent;
  }

  /** A full collection frees tensors that the program has dropped and that have a guard. */
  collect() {
    for (const handle of this.handles) if (handle.tensor === null && handle.guarded) this.free(handle);
  }

  figures() {
    const devices = { cpu: { tensors: 0, storages: 0, bytes: 0 } };
    const seen = new Set();
    let bytes = 0;
    const handles = this.all;
    for (const { impl } of handles) {
      const { device } = impl.storages[0];
      devices[device] ??= { tensors: 0, storages: 0, bytes: 0 };
      devices[device].tensors++;
      for (const storage of impl.storages) {
        if (seen.has(storage)) continue;
        seen.add(storage);
        devices[storage.device].storages++;
        devices[storage.device].bytes += storage.charged;
        bytes += storage.charged;
      }
    }
    return { tensors: handles.length, storages: seen.size, bytes, devices };
  }

  /** Bytes that libtorch holds, if none are hidden. */
  allocated(bytes) {
    return bytes + this.sharing.hidden((storage) => this.sees(storage));
  }

  /**
   * Whether libtorch may hold bytes without handles: graphs, gradients, and the base of a view that set_ moved elsewhere
   * (autograd keeps it).
   */
  get hides() {
    for (const { impl } of this.all) {
      if (impl.graph !== null) return true;
      if (impl.base?.storages.some((storage) => !this.sees(storage))) return true;
      if (impl.moved) return true;
    }
    return false;
  }

  sees(storage) {
    for (const { impl } of this.all) if (impl.storages.includes(storage)) return true;
    return false;
  }
}

/** The nearest enclosing scope that is still open. */
function openAncestor(scope) {
  let parent = scope.parent;
  while (parent !== null && !parent.open) parent = parent.parent;
  return parent;
}

module.exports = { Storage, Impl, Model };
