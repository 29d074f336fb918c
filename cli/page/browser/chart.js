/** A chart of stacked areas over time with lines, marks, a legend that toggles series, and values at the cursor. */
(() => {
  const { data, formatBytes, formatDuration, escapeHtml, element, range } = globalThis.page;
  const HEIGHT = 290;
  const MARGIN = { left: 72, right: 10, top: 10, bottom: 24 };
  const LEAK_COLORS = 3;
  const OTHER_COLORS = 8;
  const PAGE_STEPS = 10;
  /** Names of onsets, which may be near each other, are in rows. */
  const MARK_ROWS = 4;
  /** There is no room for the name of a leak beside its mark. */
  const NARROW = 520;
  /** A shorter movement of the pointer is a click. */
  const DRAG = 6;

  /** A step of 1, 2 or 5 times a power of ten of the unit, for about `count` steps. */
  function byteStep(most, count) {
    let unit = 1;
    while (most / count / unit >= 1024) unit *= 1024;
    const rough = most / count / unit;
    return unit * [1, 2, 5, 10, 20, 50, 100, 200, 256, 512, 1024].find((step) => step >= rough);
  }

  const TIME_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * 1000),
    [1, 2, 4, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
  );
  const timeStep = (span, count) => TIME_STEPS.find((step) => step >= span / count) ?? TIME_STEPS.at(-1);

  function timeLabel(ms) {
    if (ms === 0) return '0';
    if (ms < 1000) return `${ms} ms`;
    if (ms < 60_000) return `${ms / 1000} s`;
    const minutes = ms / 60_000;
    if (minutes < 60)
      return Number.isInteger(minutes)
        ? `${minutes} min`
        : `${Math.floor(minutes)}:${String((ms / 1000) % 60).padStart(2, '0')}`;
    return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60}`;
  }

  /**
   * @param {HTMLElement} root
   * @param {{ label: string, ms: number[], areas: Series[], lines: Series[], marks: { ms: number, name: string, isOnset?: boolean }[], range?: object }} chart
   * @typedef {{ name: string, title?: string, color: string, values: number[], dash?: string, shown?: boolean }} Series
   */
  function draw(root, { label, ms, areas, lines, marks, range }) {
    const count = ms.length;
    const all = [...areas, ...lines];
    const shown = new Set(all.filter((series) => series.shown !== false));
    const plot = element('div', {
      className: 'plot',
      tabIndex: 0,
      role: 'slider',
      'aria-label': `${label}. Arrow keys move the reading.`,
      'aria-valuemin': '0',
      'aria-valuemax': String(count - 1),
      'aria-valuenow': String(count - 1),
    });
    const reading = element('div', { className: 'reading', hidden: true, 'aria-hidden': 'true' });
    const legend = element('ul', { className: 'legend', 'aria-label': 'Shown in the chart' });
    root.append(plot, legend);
    let at = count - 1;
    /** While the pointer chooses a range: its two times. */
    let dragged;
    let pressed;
    let x = () => 0;

    const swatch = (series) => `<i class="${lines.includes(series) ? 'stroke' : ''}"></i>`;
    /** Set by script, because the page's policy ignores style attributes. */
    const paint = (root, painted) => {
      for (const [i, box] of root.querySelectorAll('i').entries()) box.style.background = painted[i].color;
    };

    function render() {
      const width = Math.max(280, plot.clientWidth);
      const stacked = areas.filter((series) => shown.has(series));
      const tops = [];
      let below = new Array(count).fill(0);
      for (const series of stacked) {
        below = below.map((value, i) => value + series.values[i]);
        tops.push(below);
      }
      const visible = lines.filter((series) => shown.has(series));
      let most = 1;
      for (const values of [below, ...visible.map((series) => series.values)]) {
        for (const value of values) most = Math.max(most, value);
      }
      const step = byteStep(most, 5);
      const ceiling = Math.ceil(most / step) * step;
      const [begin, end] = [ms[0], Math.max(ms.at(-1), ms[0] + 1)];
      x = (time) => MARGIN.left + ((time - begin) / (end - begin)) * (width - MARGIN.left - MARGIN.right);
      const y = (bytes) => MARGIN.top + (1 - bytes / ceiling) * (HEIGHT - MARGIN.top - MARGIN.bottom);
      const path = (values) => values.map((value, i) => `${x(ms[i]).toFixed(1)},${y(value).toFixed(1)}`);
      const parts = [];
      for (let bytes = 0; bytes <= ceiling; bytes += step) {
        const height = y(bytes).toFixed(1);
        parts.push(
          `<line class="grid" x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${height}" y2="${height}"/>`,
          `<text x="${MARGIN.left - 8}" y="${height}" dy="4" text-anchor="end">${formatBytes(bytes)}</text>`,
        );
      }
      const seconds = timeStep(end - begin, Math.max(2, Math.floor(width / 110)));
      for (let time = Math.ceil(begin / seconds) * seconds; time <= end; time += seconds) {
        const anchor = x(time) > width - 30 ? 'end' : 'middle';
        parts.push(
          `<text x="${x(time).toFixed(1)}" y="${HEIGHT - 6}" text-anchor="${anchor}">${timeLabel(time)}</text>`,
        );
      }
      for (const [i, series] of stacked.entries()) {
        const lower = i === 0 ? new Array(count).fill(0) : tops[i - 1];
        parts.push(
          `<polygon fill="${series.color}" stroke="var(--card)" stroke-width="0.75" points="` +
            `${path(tops[i]).join(' ')} ${path(lower).reverse().join(' ')}"/>`,
        );
      }
      for (const series of visible) {
        parts.push(
          `<polyline fill="none" stroke="${series.color}" stroke-width="1.75" stroke-dasharray="${series.dash ?? ''}" ` +
            `points="${path(series.values).join(' ')}"/>`,
        );
      }
      const chosen = dragged ?? range?.span;
      if (chosen !== undefined) {
        const [left, right] = [MARGIN.left, width - MARGIN.right];
        const [first, last] = chosen.map((time) => Math.min(right, Math.max(left, x(time))));
        for (const [from, to] of [
          [left, first],
          [last, right],
        ]) {
          parts.push(
            `<rect class="outside" x="${from.toFixed(1)}" y="${MARGIN.top}" width="${Math.max(0, to - from).toFixed(1)}" ` +
              `height="${HEIGHT - MARGIN.top - MARGIN.bottom}"/>`,
          );
        }
      }
      for (const [i, mark] of marks.entries()) {
        const place = x(mark.ms).toFixed(1);
        const right = x(mark.ms) > width * 0.5;
        const row = mark.isOnset ? i % MARK_ROWS : 0;
        const name = mark.isOnset && width < NARROW ? 'grows' : mark.name;
        parts.push(
          `<line class="mark${mark.isOnset ? ' onset' : ''}" x1="${place}" x2="${place}" y1="${MARGIN.top}" y2="${HEIGHT - MARGIN.bottom}"/>`,
          `<text class="mark-name" x="${place}" y="${MARGIN.top + 10 + 14 * row}" dx="${right ? -5 : 5}" ` +
            `text-anchor="${right ? 'end' : 'start'}">${escapeHtml(name)}</text>`,
        );
      }
      parts.push(`<line class="cursor" y1="${MARGIN.top}" y2="${HEIGHT - MARGIN.bottom}" visibility="hidden"/>`);
      plot.innerHTML = `<svg viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true">${parts.join('')}</svg>`;
      plot.append(reading);
      updateReading();
    }

    /** Shows the values at the cursor, also for screen readers. */
    function updateReading() {
      const rows = [...lines, ...areas.toReversed()].filter((series) => shown.has(series));
      plot.setAttribute('aria-valuenow', String(at));
      plot.setAttribute(
        'aria-valuetext',
        `${formatDuration(ms[at])}: ${rows.map((series) => `${series.name} ${formatBytes(series.values[at])}`).join('; ')}`,
      );
      reading.innerHTML = `<strong>${formatDuration(ms[at])}</strong><table>${rows
        .map(
          (series) =>
            `<tr><td>${swatch(series)}</td><td>${escapeHtml(series.name)}</td>` +
            `<td class="number">${formatBytes(series.values[at])}</td></tr>`,
        )
        .join('')}</table>`;
      paint(reading, rows);
    }

    function moveTo(index, show = true) {
      at = Math.min(count - 1, Math.max(0, index));
      updateReading();
      const line = plot.querySelector('.cursor');
      const place = x(ms[at]);
      line.setAttribute('x1', place);
      line.setAttribute('x2', place);
      line.setAttribute('visibility', show ? 'visible' : 'hidden');
      reading.hidden = !show;
      const left = place > plot.clientWidth / 2;
      reading.style.left = left ? '' : `${place + 12}px`;
      reading.style.right = left ? `${plot.clientWidth - place + 12}px` : '';
    }

    function nearest(clientX) {
      const wanted = clientX - plot.getBoundingClientRect().left;
      let best = 0;
      for (let i = 1; i < count; i++) if (Math.abs(x(ms[i]) - wanted) < Math.abs(x(ms[best]) - wanted)) best = i;
      return best;
    }

    plot.addEventListener('pointermove', (event) => {
      if (pressed !== undefined && Math.abs(event.clientX - pressed) > DRAG) {
        dragged = [ms[nearest(pressed)], ms[nearest(event.clientX)]].sort((a, b) => a - b);
        render();
      }
      moveTo(nearest(event.clientX));
    });
    if (range !== undefined) {
      plot.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        pressed = event.clientX;
        plot.setPointerCapture(event.pointerId);
      });
      for (const ended of ['pointerup', 'pointercancel']) {
        plot.addEventListener(ended, () => {
          const chosen = ended === 'pointerup' ? dragged : undefined;
          [pressed, dragged] = [undefined, undefined];
          if (chosen === undefined) render();
          else range.choose(...chosen);
        });
      }
      range.onChange(render);
    }
    plot.addEventListener('pointerleave', () => moveTo(at, false));
    plot.addEventListener('blur', () => moveTo(at, false));
    plot.addEventListener('focus', () => plot.matches(':focus-visible') && moveTo(at));
    plot.addEventListener('keydown', (event) => {
      const far = Math.max(1, Math.round(count / PAGE_STEPS));
      const to = {
        ArrowRight: at + 1,
        ArrowUp: at + 1,
        ArrowLeft: at - 1,
        ArrowDown: at - 1,
        PageUp: at + far,
        PageDown: at - far,
        Home: 0,
        End: count - 1,
      }[event.key];
      if (event.key === 'Escape') moveTo(at, false);
      if (to === undefined) return;
      event.preventDefault();
      moveTo(to);
    });

    for (const series of all) {
      const pressed = String(shown.has(series));
      const button = element('button', { type: 'button', title: series.title ?? series.name, 'aria-pressed': pressed });
      button.innerHTML = `${swatch(series)}<span>${escapeHtml(series.name)}</span>`;
      paint(button, [series]);
      button.addEventListener('click', () => {
        if (!shown.delete(series)) shown.add(series);
        button.setAttribute('aria-pressed', String(shown.has(series)));
        render();
      });
      legend.append(element('li', {}, button));
    }
    new ResizeObserver(render).observe(plot);
    render();
  }

  function bandColor(bands, band) {
    if (band.verdict === 'other') return 'var(--band-other)';
    const leak = band.verdict === 'leak';
    const index = bands.filter((other) => (other.verdict === 'leak') === leak).indexOf(band);
    return leak ? `var(--band-leak-${index % LEAK_COLORS})` : `var(--band-${index % OTHER_COLORS})`;
  }

  const { timeline } = data;
  const { ms, live, allocated, heap, rss, bands, marks, onsets } = timeline;
  if (ms.length < 2) {
    for (const id of ['timeline', 'process', 'hidden']) {
      document.getElementById(id)?.append(element('p', { className: 'note' }, 'Too few rounds for a chart.'));
    }
    return;
  }
  const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
  draw(document.getElementById('timeline'), {
    label: 'Live bytes by site over time',
    ms,
    areas: bands.map((band) => ({
      name: band.verdict === 'leak' ? `${band.name} (leak)` : band.name,
      title: band.title,
      color: bandColor(bands, band),
      values: band.bytes,
    })),
    lines: [
      { name: 'held by libtorch (allocator)', color: 'var(--ink)', values: allocated },
      // Hidden at first if it would flatten the areas, for example 200 MiB RSS over 5 MiB of tensors.
      {
        name: 'process (RSS)',
        color: 'var(--muted)',
        dash: '5 4',
        values: rss,
        shown: most(rss) < 3 * most(allocated),
      },
    ],
    marks: [...marks, ...onsets.map((onset) => ({ ...onset, isOnset: true }))],
    range,
  });
  draw(document.getElementById('process'), {
    label: 'Memory of the process by owner over time',
    ms,
    areas: [
      { name: 'live tensors', color: 'var(--band-leak-0)', values: live },
      {
        name: 'libtorch, not in JS tensors',
        color: 'var(--band-leak-1)',
        values: allocated.map((bytes, i) => Math.max(0, bytes - live[i])),
      },
      { name: "V8's heap", color: 'var(--band-0)', values: heap },
      {
        name: 'rest of the process',
        color: 'var(--band-other)',
        values: rss.map((bytes, i) => Math.max(0, bytes - Math.max(allocated[i], live[i]) - heap[i])),
      },
    ],
    lines: [{ name: 'process (RSS)', color: 'var(--ink)', dash: '5 4', values: rss }],
    marks,
  });
  const { births, hidden } = data;
  if (hidden !== undefined) {
    const known = hidden.ms.map((_, i) => hidden.bands.reduce((sum, band) => sum + band.bytes[i], 0));
    draw(document.getElementById('hidden'), {
      label: 'Memory that no tensor accounts for, over time',
      ms: hidden.ms,
      areas: [
        ...hidden.bands.map(({ name, title, bytes }, i) => ({ name, title, color: `var(--band-${i})`, values: bytes })),
        {
          name: 'no line known',
          color: 'var(--band-other)',
          values: hidden.total.map((bytes, i) => Math.max(0, bytes - known[i])),
        },
      ],
      lines: [{ name: 'held by libtorch, not in tensors', color: 'var(--ink)', values: hidden.total }],
      marks,
    });
  }
  const place = document.getElementById('births');
  if (births === undefined || births.ms.length < 2) {
    place?.remove();
    return;
  }
  draw(place, {
    label: 'Bytes by the time of their birth',
    ms: births.ms,
    areas: [{ name: 'still live at the end', color: 'var(--band-leak-0)', values: births.live }],
    lines: [{ name: 'made', color: 'var(--muted)', dash: '5 4', values: births.made }],
    marks,
  });
})();
