/** The flame graph: frame widths are bytes, callers are above; with zoom, three values and tree keyboard navigation. */
(() => {
  const { data, formatBytes, element, range } = globalThis.page;
  const ROW = 22;
  /** Narrower frames are not visible. */
  const MIN_WIDTH = 0.0015;
  /** Narrower frames have no name. */
  const MIN_NAMED = 0.02;
  const HUES = [28, 205, 96, 268, 48, 172, 330, 230, 10, 130];
  const CHILDREN = 4;

  /** Draws into `place`; `values` name the three values of a frame. Returns a function that shows another tree. */
  function draw(place, flame, valueNames, label, chosen = () => {}) {
    let values = valueNames;
    const { names, files, sources } = flame;
    let { root } = flame;
    let parents = new Map();
    function link(node) {
      for (const child of node[CHILDREN]) {
        parents.set(child, node);
        link(child);
      }
    }
    link(root);

    const tree = element('div', { className: 'tree', role: 'tree', 'aria-label': label });
    const frame = element('p', { className: 'frame', 'aria-live': 'polite' });
    const out = element('button', { type: 'button' }, 'All stacks');
    const choices = element('fieldset', { className: 'choices' });
    choices.append(element('legend', { className: 'hidden' }, 'What the width shows'));
    let value = 1;
    const texts = [];
    const inputs = [];
    let focus = root;
    /** The frame with the keyboard focus, and the element of each frame. */
    let current = root;
    let elements = new Map();

    for (const i of values.keys()) {
      const index = i + 1;
      const input = element('input', { type: 'radio', name: `${place.id}-value`, checked: index === value });
      input.addEventListener('change', () => {
        value = index;
        chosen(index);
        focus = current = root;
        render();
      });
      inputs.push(input);
      texts.push(element('span', {}, ''));
      choices.append(element('label', {}, input, texts[i]));
    }
    choices.append(out);
    place.append(choices, tree, frame);

    function describe(node) {
      const share = root[value] > 0 ? ((100 * node[value]) / root[value]).toFixed(1) : '0';
      return `${names[node[0]]}: ${formatBytes(node[value])}, ${share}%`;
    }

    const byBytes = (node) =>
      [...node[CHILDREN]].filter((child) => child[value] > 0).sort((a, b) => b[value] - a[value]);

    function render() {
      for (const [i, name] of values.entries()) texts[i].textContent = `${name} (${formatBytes(root[i + 1])})`;
      const path = [];
      for (let node = focus; node !== undefined; node = parents.get(node)) path.unshift(node);
      elements = new Map();
      const rows = [];
      let depth = 0;
      function add(node, level, left, width, className) {
        depth = Math.max(depth, level + 1);
        const box = element('div', {
          className,
          role: 'treeitem',
          tabIndex: -1,
          title: sources[node[0]] === '' ? describe(node) : `${describe(node)}\n${sources[node[0]]}`,
          'aria-label': describe(node),
          'aria-level': String(level + 1),
          'aria-selected': 'false',
          textContent: width > MIN_NAMED ? names[node[0]] : '',
        });
        box.style.cssText =
          `left:${(100 * left).toFixed(3)}%;width:${(100 * width).toFixed(3)}%;top:${level * ROW}px;` +
          `--hue:${HUES[files[node[0]] % HUES.length]}`;
        elements.set(node, box);
        rows.push(box);
      }
      function below(node, level, left, width) {
        add(node, level, left, width, node === root ? 'all' : '');
        let from = left;
        for (const child of byBytes(node)) {
          const its = (width * child[value]) / node[value];
          if (its >= MIN_WIDTH) below(child, level + 1, from, its);
          from += its;
        }
      }
      for (const [level, node] of path.slice(0, -1).entries()) add(node, level, 0, 1, 'above');
      if (root[value] > 0) below(focus, path.length - 1, 0, 1);
      tree.replaceChildren(...rows);
      tree.style.height = `${depth * ROW}px`;
      out.disabled = focus === root;
      if (!elements.has(current)) current = focus;
      elements.get(current)?.setAttribute('tabindex', '0');
      frame.textContent = root[value] > 0 ? describe(current) : 'No data.';
    }

    function go(node, focused = true) {
      if (node === undefined || !elements.has(node)) return;
      elements.get(current)?.setAttribute('tabindex', '-1');
      elements.get(current)?.setAttribute('aria-selected', 'false');
      current = node;
      const box = elements.get(node);
      box.setAttribute('tabindex', '0');
      box.setAttribute('aria-selected', 'true');
      if (focused) box.focus();
      frame.textContent = describe(node);
    }

    function zoom(node) {
      focus = current = node;
      render();
      elements.get(node)?.focus();
    }

    const nodeOf = (target) => [...elements].find(([, box]) => box === target)?.[0];

    function sibling(by) {
      const parent = parents.get(current);
      if (parent === undefined) return undefined;
      const all = byBytes(parent);
      return all[all.indexOf(current) + by];
    }

    tree.addEventListener('click', (event) => {
      const node = nodeOf(event.target);
      if (node !== undefined) zoom(node);
    });
    tree.addEventListener('pointerover', (event) => {
      const node = nodeOf(event.target);
      if (node !== undefined) frame.textContent = describe(node);
    });
    tree.addEventListener('keydown', (event) => {
      const act = {
        ArrowUp: () => go(parents.get(current)),
        ArrowDown: () => go(byBytes(current)[0]),
        ArrowLeft: () => go(sibling(-1)),
        ArrowRight: () => go(sibling(1)),
        Home: () => go(root),
        Enter: () => zoom(current),
        ' ': () => zoom(current),
        Escape: () => zoom(parents.get(focus) ?? root),
      }[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    });
    out.addEventListener('click', () => zoom(root));
    render();

    return (other, otherNames, index) => {
      values = otherNames;
      value = index;
      for (const [i, input] of inputs.entries()) input.checked = i + 1 === value;
      root = focus = current = other;
      parents = new Map();
      link(root);
      render();
    };
  }

  const show = draw(document.getElementById('flame'), data.flame, range.names, 'Allocation stacks', (value) => {
    range.value = value;
  });
  range.onChange(() => show(range.span === undefined ? data.flame.root : range.tree(), range.names, range.value));
  const hidden = document.getElementById('hidden-flame');
  if (hidden !== null)
    draw(
      hidden,
      data.hidden.flame,
      ['at the end', 'at its peak', 'growth'],
      'Stacks of memory that no tensor accounts for',
    );
})();
