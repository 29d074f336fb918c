/** A chart of stacked areas over time with lines, marks, a legend that toggles series, and values at the cursor. */
(() => {
  const { chartImage, formatBytes, formatDuration, escapeHtml, element } = globalThis.page;
  const MIN_WIDTH = 280;
  const PAGE_STEPS = 10;
  /** A shorter movement of the pointer is a click. */
  const DRAG = 6;

  /** Set by script, because the page's policy ignores style attributes. */
  function paint(root, painted) {
    for (const [i, box] of root.querySelectorAll('i').entries()) box.style.background = painted[i].color;
  }

  class Chart {
    /**
     * Series and marks: see chart-image.js. `range`: what a drag chooses, see range.js.
     *
     * @param {HTMLElement} root
     * @param {{ label: string, ms: number[], areas: object[], lines: object[], marks: object[], range?: object }} chart
     */
    constructor(root, { label, ms, areas, lines, marks, range }) {
      Object.assign(this, { ms, areas, lines, marks, range });
      this.last = ms.length - 1;
      this.shown = new Set([...areas, ...lines].filter((series) => series.shown !== false));
      this.plot = element('div', {
        className: 'plot',
        tabIndex: 0,
        role: 'slider',
        'aria-label': `${label}. Arrow keys move the reading.`,
        'aria-valuemin': '0',
        'aria-valuemax': String(this.last),
        'aria-valuenow': String(this.last),
      });
      this.reading = element('div', { className: 'reading', hidden: true, 'aria-hidden': 'true' });
      /** The position of the reading. */
      this.at = this.last;
      /** The place of a time. */
      this.x = () => 0;
      /** While the pointer chooses a range: where it began, and the two times. */
      this.pressed = undefined;
      this.dragged = undefined;
      root.append(this.plot, this.legend());
      this.listenToPointer();
      this.listenToKeys();
      new ResizeObserver(() => this.render()).observe(this.plot);
      this.render();
    }

    render() {
      const { svg, x } = chartImage({
        width: Math.max(MIN_WIDTH, this.plot.clientWidth),
        ms: this.ms,
        areas: this.areas.filter((series) => this.shown.has(series)),
        lines: this.lines.filter((series) => this.shown.has(series)),
        marks: this.marks,
        chosen: this.dragged ?? this.range?.span,
      });
      this.x = x;
      this.plot.innerHTML = svg;
      this.plot.append(this.reading);
      this.updateReading();
    }

    swatch(series) {
      return `<i class="${this.lines.includes(series) ? 'stroke' : ''}"></i>`;
    }

    /** Shows the values at the cursor, also for screen readers. */
    updateReading() {
      const { plot, reading, at } = this;
      const rows = [...this.lines, ...this.areas.toReversed()].filter((series) => this.shown.has(series));
      const time = formatDuration(this.ms[at]);
      const values = rows.map((series) => `${series.name} ${formatBytes(series.values[at])}`);
      plot.setAttribute('aria-valuenow', String(at));
      plot.setAttribute('aria-valuetext', `${time}: ${values.join('; ')}`);
      const cells = rows.map(
        (series) =>
          `<tr><td>${this.swatch(series)}</td><td>${escapeHtml(series.name)}</td>` +
          `<td class="number">${formatBytes(series.values[at])}</td></tr>`,
      );
      reading.innerHTML = `<strong>${time}</strong><table>${cells.join('')}</table>`;
      paint(reading, rows);
    }

    moveTo(index, show = true) {
      const { plot, reading } = this;
      this.at = Math.min(this.last, Math.max(0, index));
      this.updateReading();
      const line = plot.querySelector('.cursor');
      const place = this.x(this.ms[this.at]);
      line.setAttribute('x1', place);
      line.setAttribute('x2', place);
      line.setAttribute('visibility', show ? 'visible' : 'hidden');
      reading.hidden = !show;
      const left = place > plot.clientWidth / 2;
      reading.style.left = left ? '' : `${place + 12}px`;
      reading.style.right = left ? `${plot.clientWidth - place + 12}px` : '';
    }

    /** The position next to a place of the pointer. */
    nearest(clientX) {
      const wanted = clientX - this.plot.getBoundingClientRect().left;
      const distance = (i) => Math.abs(this.x(this.ms[i]) - wanted);
      let best = 0;
      for (let i = 1; i <= this.last; i++) if (distance(i) < distance(best)) best = i;
      return best;
    }

    listenToPointer() {
      const { plot, range } = this;
      plot.addEventListener('pointermove', ({ clientX }) => {
        if (this.pressed !== undefined && Math.abs(clientX - this.pressed) > DRAG) {
          const ends = [this.nearest(this.pressed), this.nearest(clientX)];
          this.dragged = ends.map((at) => this.ms[at]).sort((a, b) => a - b);
          this.render();
        }
        this.moveTo(this.nearest(clientX));
      });
      plot.addEventListener('pointerleave', () => this.moveTo(this.at, false));
      if (range === undefined) return;
      plot.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        this.pressed = event.clientX;
        plot.setPointerCapture(event.pointerId);
      });
      plot.addEventListener('pointerup', () => this.endDrag(this.dragged));
      plot.addEventListener('pointercancel', () => this.endDrag(undefined));
      range.onChange(() => this.render());
    }

    endDrag(chosen) {
      this.pressed = undefined;
      this.dragged = undefined;
      if (chosen === undefined) this.render();
      else this.range.choose(...chosen);
    }

    listenToKeys() {
      const { plot } = this;
      plot.addEventListener('blur', () => this.moveTo(this.at, false));
      plot.addEventListener('focus', () => plot.matches(':focus-visible') && this.moveTo(this.at));
      plot.addEventListener('keydown', (event) => {
        const far = Math.max(1, Math.round(this.ms.length / PAGE_STEPS));
        const to = {
          ArrowRight: this.at + 1,
          ArrowUp: this.at + 1,
          ArrowLeft: this.at - 1,
          ArrowDown: this.at - 1,
          PageUp: this.at + far,
          PageDown: this.at - far,
          Home: 0,
          End: this.last,
        }[event.key];
        if (event.key === 'Escape') this.moveTo(this.at, false);
        if (to === undefined) return;
        event.preventDefault();
        this.moveTo(to);
      });
    }

    /** A button for each series, which shows or hides it. */
    legend() {
      const legend = element('ul', { className: 'legend', 'aria-label': 'Shown in the chart' });
      for (const series of [...this.areas, ...this.lines]) {
        const pressed = String(this.shown.has(series));
        const title = series.title ?? series.name;
        const button = element('button', { type: 'button', title, 'aria-pressed': pressed });
        button.innerHTML = `${this.swatch(series)}<span>${escapeHtml(series.name)}</span>`;
        paint(button, [series]);
        button.addEventListener('click', () => {
          if (!this.shown.delete(series)) this.shown.add(series);
          button.setAttribute('aria-pressed', String(this.shown.has(series)));
          this.render();
        });
        legend.append(element('li', {}, button));
      }
      return legend;
    }
  }

  globalThis.page.Chart = Chart;
})();
