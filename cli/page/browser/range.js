/** The part of the recording that the table and the flame graph show: two sliders, presets, and a drag on the timeline. */
(() => {
  const { data, formatBytes, formatDuration, element } = globalThis.page;
  const { ms, peak, stacks, sites, hasKept } = data.ranges;
  const last = ms.length - 1;
  const listeners = [];
  let [from, to] = [0, last];
  const isWhole = () => from === 0 && to === last;

  const ROW = 5;
  /** The sum of a column of the rows of what was made in the range and is live at its end. */
  function keptIn(rows, column) {
    let sum = 0;
    for (let i = 0; i < rows.length; i += ROW) {
      const isIn = rows[i] > from && rows[i + 1] <= to && rows[i + 2] > to;
      if (isIn) sum += rows[i + column];
    }
    return sum;
  }

  /**
   * What was allocated in the range and is live at its end (if the page does not know it: all that is), what was allocated and
   * what grew in it. At the first round, nothing has been allocated.
   */
  const totals = ({ live, allocated, kept }) => ({
    live: from === 0 || !hasKept ? live[to] : keptIn(kept, 4),
    allocated: allocated[to] - (from === 0 ? 0 : allocated[from]),
    growth: live[to] - live[from],
  });

  /** The tree of a flame graph for the range. */
  function tree() {
    const root = [0, 0, 0, 0, []];
    const children = new Map([[root, new Map()]]);
    for (const stack of stacks) {
      const { live, allocated, growth } = totals(stack);
      const bytes = [0, live, allocated, growth].map((value) => Math.max(0, value));
      let node = root;
      for (const name of [undefined, ...stack.frames]) {
        if (name !== undefined) {
          let child = children.get(node).get(name);
          if (child === undefined) {
            child = [name, 0, 0, 0, []];
            children.get(node).set(name, child);
            children.set(child, new Map());
            node[4].push(child);
          }
          node = child;
        }
        for (const i of [1, 2, 3]) node[i] += bytes[i];
      }
    }
    return root;
  }

  /** Figures of a site of the report; undefined if the page does not have them. */
  function siteIn(index) {
    const site = sites[index];
    if (site === undefined) return undefined;
    const { live, allocated, growth } = totals(site);
    const minutes = (ms[to] - ms[from]) / 60_000;
    return {
      liveTensors: from === 0 || !hasKept ? site.liveTensors[to] : keptIn(site.kept, 3),
      live,
      allocatedTensors: site.allocatedTensors[to] - (from === 0 ? 0 : site.allocatedTensors[from]),
      allocated,
      growthPerMinute: minutes > 0 ? growth / minutes : 0,
    };
  }

  /** What a range shows; a number of the values of a flame graph's frame, from 1. */
  const NAMES = [hasKept ? 'allocated in it and still live' : 'live at its end', 'allocated in it', 'net growth'];
  let value = 1;

  const range = {
    get value() {
      return value;
    },
    set value(chosen) {
      value = chosen;
      if (ms.length >= 3) showChoice();
    },
    /** The names of the values for the chosen range. */
    get names() {
      return isWhole() ? ['live', 'allocated', 'growth'] : NAMES;
    },
    get span() {
      return isWhole() ? undefined : [ms[from], ms[to]];
    },
    onChange: (listener) => listeners.push(listener),
    /** The steps next to two times. */
    choose(begin, end) {
      const nearest = (time) =>
        ms.reduce((best, one, i) => (Math.abs(one - time) < Math.abs(ms[best] - time) ? i : best), 0);
      set(nearest(Math.min(begin, end)), nearest(Math.max(begin, end)));
    },
    tree,
    siteIn,
  };
  globalThis.page.range = range;
  if (ms.length < 3) return;

  const slider = (name) =>
    element('input', { type: 'range', min: '0', max: String(last), step: '1', 'aria-label': `${name} of the range` });
  const [begin, end] = [slider('Begin'), slider('End')];
  const [beginText, endText] = [element('output'), element('output')];
  const whole = element('button', { type: 'button' }, 'Whole recording');
  const highest = element(
    'button',
    { type: 'button', title: 'What was live when most bytes were' },
    `High-water mark (${formatBytes(data.peakBytes)} at ${formatDuration(ms[peak])})`,
  );
  const choice = element('fieldset', { className: 'choices' });
  choice.append(element('legend', { className: 'hidden' }, 'What the range shows'));
  const radios = NAMES.map((name, i) => {
    const input = element('input', { type: 'radio', name: 'range-value' });
    input.addEventListener('change', () => {
      value = i + 1;
      show();
      for (const listener of listeners) listener(true);
    });
    const text = element('span', {}, name);
    choice.append(element('label', {}, input, text));
    return { input, text };
  });
  const status = element('p', { className: 'note', 'aria-live': 'polite' });
  document
    .getElementById('range')
    .append(
      element('label', {}, 'From', begin, beginText),
      element('label', {}, 'to', end, endText),
      whole,
      highest,
      choice,
      status,
    );

  function set(nextFrom, nextTo) {
    from = Math.min(last, Math.max(0, nextFrom));
    to = Math.min(last, Math.max(from, nextTo));
    show();
    for (const listener of listeners) listener();
  }

  function show() {
    [begin.value, end.value] = [String(from), String(to)];
    beginText.textContent = from === 0 ? 'the start' : formatDuration(ms[from]);
    endText.textContent = formatDuration(ms[to]);
    begin.setAttribute('aria-valuetext', beginText.textContent);
    end.setAttribute('aria-valuetext', endText.textContent);
    whole.disabled = isWhole();
    choice.hidden = isWhole();
    showChoice();
    const live = hasKept ? 'what was allocated in it and still live at its end' : 'what was live at its end';
    status.textContent = isWhole()
      ? 'Drag on the chart, or use the sliders: the table and the flame graph then show that part only.'
      : `The table and the flame graph show ${from === 0 ? 'the start' : formatDuration(ms[from])} to ${formatDuration(ms[to])}: ` +
        `${live} (in the columns "live"), what was allocated in it, and its net growth. Verdicts are of the whole recording.`;
  }

  function showChoice() {
    const sums = stacks
      .map(totals)
      .reduce((sum, one) => [sum[0] + one.live, sum[1] + one.allocated, sum[2] + one.growth], [0, 0, 0]);
    for (const [i, { input, text }] of radios.entries()) {
      input.checked = value === i + 1;
      text.textContent = `${NAMES[i]} (${formatBytes(sums[i])})`;
    }
  }

  begin.addEventListener('input', () => set(Number(begin.value), Math.max(to, Number(begin.value))));
  end.addEventListener('input', () => set(Math.min(from, Number(end.value)), Number(end.value)));
  whole.addEventListener('click', () => set(0, last));
  highest.addEventListener('click', () => set(0, peak));
  show();
})();
