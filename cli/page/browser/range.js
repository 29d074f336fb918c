/** The part of the recording that the table and the flame graph show: two sliders, presets, and a drag on the timeline. */
(() => {
  const { data, formatBytes, formatDuration, element } = globalThis.page;
  const { ms, peak, stacks, sites } = data.ranges;
  const last = ms.length - 1;
  const listeners = [];
  let [from, to] = [0, last];
  const isWhole = () => from === 0 && to === last;

  /** Live at the end of the range; allocated and grown in it. At the first round, nothing has been allocated. */
  const totals = ({ live, allocated }) => ({
    live: live[to],
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
      liveTensors: site.liveTensors[to],
      live,
      allocatedTensors: site.allocatedTensors[to] - (from === 0 ? 0 : site.allocatedTensors[from]),
      allocated,
      growthPerMinute: minutes > 0 ? growth / minutes : 0,
    };
  }

  const range = {
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
  const status = element('p', { className: 'note', 'aria-live': 'polite' });
  document
    .getElementById('range')
    .append(
      element('label', {}, 'From', begin, beginText),
      element('label', {}, 'to', end, endText),
      whole,
      highest,
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
    status.textContent = isWhole()
      ? 'Drag on the chart, or use the sliders: the table and the flame graph then show that part only.'
      : `The table and the flame graph show ${from === 0 ? 'the start' : formatDuration(ms[from])} to ${formatDuration(ms[to])}: ` +
        'what was live at its end, and what was allocated and grew in it. Verdicts are of the whole recording.';
  }

  begin.addEventListener('input', () => set(Number(begin.value), Math.max(to, Number(begin.value))));
  end.addEventListener('input', () => set(Math.min(from, Number(end.value)), Number(end.value)));
  whole.addEventListener('click', () => set(0, last));
  highest.addEventListener('click', () => set(0, peak));
  show();
})();
