/** The flame graph: frame widths are bytes, callers are above; with zoom, three values and tree keyboard navigation. */
(() => {
  const { data, formatBytes, element, range } = globalThis.page;
  const ROW = 22;
  /** Narrower frames are not visible. */
  const MIN_WIDTH = 0.0015;
  /** Narrower frames have no name. */
  const MIN_NAMED = 0.02;
  const HUES = [28, 205, 96, 268, 48, 172, 330, 230, 10, 130];
  /** Of a frame: its name's position in the names, then its values, then the frames that it called. */
  const NAME = 0;
  const CHILDREN = 4;

  class FlameGraph {
    /**
     * @param {HTMLElement} place
     * @param {{ root: Frame, names: string[], files: number[], sources: string[] }} flame
     * @param {{ valueNames: string[], label: string, onValue?: (value: number) => void }} options `valueNames`: of the three
     *   values of a frame; `onValue`: another one was chosen
     * @typedef {[name: number, first: number, second: number, third: number, children: Frame[]]} Frame
     */
    constructor(place, { root, names, files, sources }, { valueNames, label, onValue = () => {} }) {
      Object.assign(this, { names, files, sources, onValue });
      this.tree = element('div', { className: 'tree', role: 'tree', 'aria-label': label });
      this.description = element('p', { className: 'frame', 'aria-live': 'polite' });
      this.out = element('button', { type: 'button' }, 'All stacks');
      /** The value that the width shows. */
      this.value = 1;
      this.inputs = [];
      this.texts = [];
      place.append(this.choices(place.id, valueNames.length), this.tree, this.description);
      this.listen();
      this.show(root, valueNames, this.value);
    }

    /** Shows another tree. */
    show(root, valueNames, value) {
      Object.assign(this, { root, valueNames, value });
      /** The frame that fills the width, and the one with the keyboard focus. */
      this.focus = this.current = root;
      this.parents = new Map();
      this.link(root);
      for (const [i, input] of this.inputs.entries()) input.checked = i + 1 === value;
      this.render();
    }

    link(node) {
      for (const child of node[CHILDREN]) {
        this.parents.set(child, node);
        this.link(child);
      }
    }

    choices(id, count) {
      const choices = element('fieldset', { className: 'choices' });
      choices.append(element('legend', { className: 'hidden' }, 'What the width shows'));
      for (let value = 1; value <= count; value++) {
        const input = element('input', { type: 'radio', name: `${id}-value`, checked: value === this.value });
        input.addEventListener('change', () => this.choose(value));
        const text = element('span', {}, '');
        this.inputs.push(input);
        this.texts.push(text);
        choices.append(element('label', {}, input, text));
      }
      choices.append(this.out);
      return choices;
    }

    choose(value) {
      this.value = value;
      this.onValue(value);
      this.focus = this.current = this.root;
      this.render();
    }

    describe(node) {
      const [bytes, all] = [node[this.value], this.root[this.value]];
      return `${this.names[node[NAME]]}: ${formatBytes(bytes)}, ${all > 0 ? ((100 * bytes) / all).toFixed(1) : '0'}%`;
    }

    /** The frames that a frame called, the largest first. */
    called(node) {
      const { value } = this;
      return node[CHILDREN].filter((child) => child[value] > 0).sort((a, b) => b[value] - a[value]);
    }

    /** The callers of a frame and the frame itself, the outermost first. */
    pathTo(node) {
      const path = [];
      for (let one = node; one !== undefined; one = this.parents.get(one)) path.unshift(one);
      return path;
    }

    render() {
      const { root, value, tree } = this;
      for (const [i, name] of this.valueNames.entries()) {
        this.texts[i].textContent = `${name} (${formatBytes(root[i + 1])})`;
      }
      /** The element of each frame. */
      this.elements = new Map();
      this.depth = 0;
      const path = this.pathTo(this.focus);
      for (const [level, node] of path.slice(0, -1).entries()) this.add(node, level, 0, 1, 'above');
      if (root[value] > 0) this.addWithCalled(this.focus, path.length - 1, 0, 1);
      tree.replaceChildren(...this.elements.values());
      tree.style.height = `${this.depth * ROW}px`;
      this.out.disabled = this.focus === root;
      if (!this.elements.has(this.current)) this.current = this.focus;
      this.elements.get(this.current)?.setAttribute('tabindex', '0');
      this.description.textContent = root[value] > 0 ? this.describe(this.current) : 'No data.';
    }

    /** Left and width are shares of the whole. */
    add(node, level, left, width, className) {
      const { names, sources, files } = this;
      const text = this.describe(node);
      const source = sources[node[NAME]];
      const box = element('div', {
        className,
        role: 'treeitem',
        tabIndex: -1,
        title: source === '' ? text : `${text}\n${source}`,
        'aria-label': text,
        'aria-level': String(level + 1),
        'aria-selected': 'false',
        textContent: width > MIN_NAMED ? names[node[NAME]] : '',
      });
      box.style.cssText =
        `left:${(100 * left).toFixed(3)}%;width:${(100 * width).toFixed(3)}%;top:${level * ROW}px;` +
        `--hue:${HUES[files[node[NAME]] % HUES.length]}`;
      this.depth = Math.max(this.depth, level + 1);
      this.elements.set(node, box);
    }

    addWithCalled(node, level, left, width) {
      const { value } = this;
      this.add(node, level, left, width, node === this.root ? 'all' : '');
      let from = left;
      for (const child of this.called(node)) {
        const its = (width * child[value]) / node[value];
        if (its >= MIN_WIDTH) this.addWithCalled(child, level + 1, from, its);
        from += its;
      }
    }

    /** Moves the keyboard focus to a frame. */
    go(node) {
      if (node === undefined || !this.elements.has(node)) return;
      const before = this.elements.get(this.current);
      before?.setAttribute('tabindex', '-1');
      before?.setAttribute('aria-selected', 'false');
      this.current = node;
      const box = this.elements.get(node);
      box.setAttribute('tabindex', '0');
      box.setAttribute('aria-selected', 'true');
      box.focus();
      this.description.textContent = this.describe(node);
    }

    zoom(node) {
      this.focus = this.current = node;
      this.render();
      this.elements.get(node)?.focus();
    }

    nodeOf(target) {
      return [...this.elements].find(([, box]) => box === target)?.[0];
    }

    /** The frame beside the one with the focus. */
    sibling(by) {
      const parent = this.parents.get(this.current);
      if (parent === undefined) return undefined;
      const all = this.called(parent);
      return all[all.indexOf(this.current) + by];
    }

    listen() {
      const { tree } = this;
      tree.addEventListener('click', ({ target }) => {
        const node = this.nodeOf(target);
        if (node !== undefined) this.zoom(node);
      });
      tree.addEventListener('pointerover', ({ target }) => {
        const node = this.nodeOf(target);
        if (node !== undefined) this.description.textContent = this.describe(node);
      });
      tree.addEventListener('keydown', (event) => {
        const act = {
          ArrowUp: () => this.go(this.parents.get(this.current)),
          ArrowDown: () => this.go(this.called(this.current)[0]),
          ArrowLeft: () => this.go(this.sibling(-1)),
          ArrowRight: () => this.go(this.sibling(1)),
          Home: () => this.go(this.root),
          Enter: () => this.zoom(this.current),
          ' ': () => this.zoom(this.current),
          Escape: () => this.zoom(this.parents.get(this.focus) ?? this.root),
        }[event.key];
        if (act === undefined) return;
        event.preventDefault();
        act();
      });
      this.out.addEventListener('click', () => this.zoom(this.root));
    }
  }

  const graph = new FlameGraph(document.getElementById('flame'), data.flame, {
    valueNames: range.names,
    label: 'Allocation stacks',
    onValue: (value) => {
      range.value = value;
    },
  });
  range.onChange(() => {
    graph.show(range.span === undefined ? data.flame.root : range.tree(), range.names, range.value);
  });
  const hidden = document.getElementById('hidden-flame');
  if (hidden !== null) {
    new FlameGraph(hidden, data.hidden.flame, {
      valueNames: ['at the end', 'at its peak', 'growth'],
      label: 'Stacks of memory that no tensor accounts for',
    });
  }
})();
