/** The model of tokens, and of the other thread's handles and tokens, by number. */
'use strict';

const { Impl } = require('./model.cjs');

/** A result of `t.share()`: the tensor at that time, on storages that can no longer grow. */
class Token {
  constructor(number, impl) {
    this.number = number;
    this.token = null; // this thread's token object, or null
    this.isThere = false; // whether the other thread has it, taken or in a message
    this.inMail = false; // only in the other thread's unread messages
    const { storages, shape, dtype, strides, offset, layout, entries, coalesced, places } = impl;
    this.storages = [...storages];
    this.as = { shape: [...shape], dtype, strides, offset, layout, entries, coalesced, places };
    this.isLeaf = impl.graph !== null;
    for (const storage of storages) storage.pinned = true;
  }

  get isHeld() {
    return this.token !== null || this.isThere;
  }

  /** The tensor that taking it gives: its own shape, version, gradient. */
  taken() {
    const { as, storages } = this;
    const impl = new Impl({ ...as, storages: [...storages], shape: [...as.shape] });
    const { entries, coalesced, places } = as;
    if (impl.layout !== 'strided') Object.assign(impl, { entries, coalesced, places });
    if (this.isLeaf) impl.graph = { leaf: true };
    return impl;
  }
}

/** The tokens of the process, and the other thread. */
class Sharing {
  constructor() {
    this.tokens = new Set(); // those that may still be taken
    this.made = 0;
    this.there = new Set(); // handles of the other thread
    this.mail = []; // tokens in its unread messages
    this.isTold = new Map(); // storage -> whether in this thread
  }

  share(impl) {
    const token = new Token(++this.made, impl);
    this.tokens.add(token);
    return token;
  }

  /** It cannot be taken any more. */
  dispose(token) {
    this.tokens.delete(token);
  }

  /** Both threads have collected: unreachable tokens are freed. */
  collect() {
    for (const token of this.tokens) if (!token.isHeld) this.dispose(token);
  }

  /** The other thread has ended. */
  end() {
    this.there.clear();
    this.mail = [];
    for (const token of this.tokens) token.isThere = token.inMail = false;
    this.collect();
  }

  /** Bytes of storages held only by tokens. */
  hidden(sees) {
    const storages = new Set([...this.tokens].flatMap((token) => token.storages));
    let bytes = 0;
    for (const storage of storages) if (!sees(storage)) bytes += storage.charged;
    return bytes;
  }

  /**
   * The bytes reported to V8 in this thread. A storage is reported in one thread: that of its first handle, until that thread
   * has released its last one.
   */
  toldHere(here) {
    const of = (handles) => new Set([...handles].flatMap(({ impl }) => impl.storages));
    const [mine, theirs] = [of(here), of(this.there)];
    const before = this.isTold;
    this.isTold = new Map();
    let bytes = 0;
    for (const storage of new Set([...mine, ...theirs])) {
      const both = mine.has(storage) && theirs.has(storage);
      const isHere = (both ? before.get(storage) : undefined) ?? mine.has(storage);
      this.isTold.set(storage, isHere);
      if (isHere) bytes += storage.charged;
    }
    return bytes;
  }
}

module.exports = { Sharing };
