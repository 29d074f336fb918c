/** The image of a chart, as text of SVG: axes, stacked areas, lines, what is outside the chosen range, and marks. */
(() => {
  const { axes, formatBytes, escapeHtml } = globalThis.page;
  const HEIGHT = 290;
  const MARGIN = { left: 72, right: 10, top: 10, bottom: 24 };
  const BOTTOM = HEIGHT - MARGIN.bottom;
  const BYTE_STEPS = 5;
  /** Pixels. */
  const TIME_STEP_WIDTH = 110;
  /** Names of onsets, which may be near each other, are in rows. */
  const MARK_ROWS = 4;
  /** There is no room for the name of a leak beside its mark. */
  const NARROW = 520;

  /** For each series the sums of its values and of those below it. */
  function stack(series, count) {
    const tops = [];
    let below = new Array(count).fill(0);
    for (const { values } of series) {
      below = below.map((value, i) => value + values[i]);
      tops.push(below);
    }
    return tops;
  }

  const largest = (lists) => lists.flat().reduce((a, b) => Math.max(a, b), 1);

  /** The places of times and bytes. */
  function scales(width, ms, most) {
    const step = axes.byteStep(most, BYTE_STEPS);
    const ceiling = Math.ceil(most / step) * step;
    const [begin, end] = [ms[0], Math.max(ms.at(-1), ms[0] + 1)];
    return {
      ...{ width, step, ceiling, begin, end },
      x: (time) => MARGIN.left + ((time - begin) / (end - begin)) * (width - MARGIN.left - MARGIN.right),
      y: (bytes) => MARGIN.top + (1 - bytes / ceiling) * (BOTTOM - MARGIN.top),
    };
  }

  function byteAxis({ width, step, ceiling, y }) {
    const parts = [];
    for (let bytes = 0; bytes <= ceiling; bytes += step) {
      const height = y(bytes).toFixed(1);
      parts.push(
        `<line class="grid" x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${height}" y2="${height}"/>`,
        `<text x="${MARGIN.left - 8}" y="${height}" dy="4" text-anchor="end">${formatBytes(bytes)}</text>`,
      );
    }
    return parts;
  }

  function timeAxis({ width, begin, end, x }) {
    const parts = [];
    const step = axes.timeStep(end - begin, Math.max(2, Math.floor(width / TIME_STEP_WIDTH)));
    for (let time = Math.ceil(begin / step) * step; time <= end; time += step) {
      const anchor = x(time) > width - 30 ? 'end' : 'middle';
      const label = axes.timeLabel(time);
      parts.push(`<text x="${x(time).toFixed(1)}" y="${HEIGHT - 6}" text-anchor="${anchor}">${label}</text>`);
    }
    return parts;
  }

  const points = ({ x, y }, ms, values) => values.map((value, i) => `${x(ms[i]).toFixed(1)},${y(value).toFixed(1)}`);

  const area = (scale, ms, color, top, bottom) =>
    `<polygon fill="${color}" stroke="var(--card)" stroke-width="0.75" points="` +
    `${points(scale, ms, top).join(' ')} ${points(scale, ms, bottom).reverse().join(' ')}"/>`;

  const line = (scale, ms, { color, dash, values }) =>
    `<polyline fill="none" stroke="${color}" stroke-width="1.75" stroke-dasharray="${dash ?? ''}" ` +
    `points="${points(scale, ms, values).join(' ')}"/>`;

  /** What is left and right of the chosen range. */
  function outside({ width, x }, chosen) {
    const [left, right] = [MARGIN.left, width - MARGIN.right];
    const [first, last] = chosen.map((time) => Math.min(right, Math.max(left, x(time))));
    const box = (from, to) =>
      `<rect class="outside" x="${from.toFixed(1)}" y="${MARGIN.top}" width="${Math.max(0, to - from).toFixed(1)}" ` +
      `height="${BOTTOM - MARGIN.top}"/>`;
    return [box(left, first), box(last, right)];
  }

  function markAt({ width, x }, { ms, name, isOnset }, i) {
    const place = x(ms).toFixed(1);
    const right = x(ms) > width * 0.5;
    const row = isOnset ? i % MARK_ROWS : 0;
    const shown = isOnset && width < NARROW ? 'grows' : name;
    return (
      `<line class="mark${isOnset ? ' onset' : ''}" x1="${place}" x2="${place}" y1="${MARGIN.top}" y2="${BOTTOM}"/>` +
      `<text class="mark-name" x="${place}" y="${MARGIN.top + 10 + 14 * row}" dx="${right ? -5 : 5}" ` +
      `text-anchor="${right ? 'end' : 'start'}">${escapeHtml(shown)}</text>`
    );
  }

  /**
   * @param {{ width: number, ms: number[], areas: Series[], lines: Series[], marks: Mark[], chosen?: number[] }} chart
   *   `chosen`: the two times of the range
   * @typedef {{ name: string, title?: string, color: string, values: number[], dash?: string, shown?: boolean }} Series
   * @typedef {{ ms: number, name: string, isOnset?: boolean }} Mark
   * @returns the image, and the place of a time in it
   */
  globalThis.page.chartImage = ({ width, ms, areas, lines, marks, chosen }) => {
    const tops = stack(areas, ms.length);
    const floor = new Array(ms.length).fill(0);
    const scale = scales(width, ms, largest([tops.at(-1) ?? floor, ...lines.map(({ values }) => values)]));
    const parts = [
      ...byteAxis(scale),
      ...timeAxis(scale),
      ...areas.map(({ color }, i) => area(scale, ms, color, tops[i], tops[i - 1] ?? floor)),
      ...lines.map((series) => line(scale, ms, series)),
      ...(chosen === undefined ? [] : outside(scale, chosen)),
      ...marks.map((mark, i) => markAt(scale, mark, i)),
      `<line class="cursor" y1="${MARGIN.top}" y2="${BOTTOM}" visibility="hidden"/>`,
    ];
    return {
      svg: `<svg viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true">${parts.join('')}</svg>`,
      x: scale.x,
    };
  };
})();
