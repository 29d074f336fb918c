/** The charts of the page: the timeline of the sites, the memory of the process, hidden memory, and bytes by birth. */
(() => {
  const { data, element, range, Chart } = globalThis.page;
  const { timeline, births, hidden } = data;
  const { ms, live, allocated, heap, rss, bands, marks, onsets } = timeline;
  const LEAK_COLORS = 3;
  const OTHER_COLORS = 8;
  /** RSS is hidden at first if it is this many times what tensors take, because it would flatten the areas. */
  const FLATTENS = 3;

  const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);

  function bandColor(band) {
    if (band.verdict === 'other') return 'var(--band-other)';
    const leak = band.verdict === 'leak';
    const index = bands.filter((other) => (other.verdict === 'leak') === leak).indexOf(band);
    return leak ? `var(--band-leak-${index % LEAK_COLORS})` : `var(--band-${index % OTHER_COLORS})`;
  }

  const bandArea = (band) => ({
    name: band.verdict === 'leak' ? `${band.name} (leak)` : band.name,
    title: band.title,
    color: bandColor(band),
    values: band.bytes,
  });

  function showSites(place) {
    const isFlattening = most(rss) >= FLATTENS * most(allocated);
    new Chart(place, {
      label: 'Live bytes by site over time',
      ms,
      areas: bands.map(bandArea),
      lines: [
        { name: 'held by libtorch (allocator)', color: 'var(--ink)', values: allocated },
        { name: 'process (RSS)', color: 'var(--muted)', dash: '5 4', values: rss, shown: !isFlattening },
      ],
      marks: [...marks, ...onsets.map((onset) => ({ ...onset, isOnset: true }))],
      range,
    });
  }

  function showProcess(place) {
    const outside = allocated.map((bytes, i) => Math.max(0, bytes - live[i]));
    const rest = rss.map((bytes, i) => Math.max(0, bytes - Math.max(allocated[i], live[i]) - heap[i]));
    new Chart(place, {
      label: 'Memory of the process by owner over time',
      ms,
      areas: [
        { name: 'live tensors', color: 'var(--band-leak-0)', values: live },
        { name: 'libtorch, not in JS tensors', color: 'var(--band-leak-1)', values: outside },
        { name: "V8's heap", color: 'var(--band-0)', values: heap },
        { name: 'rest of the process', color: 'var(--band-other)', values: rest },
      ],
      lines: [{ name: 'process (RSS)', color: 'var(--ink)', dash: '5 4', values: rss }],
      marks,
    });
  }

  function showHidden(place) {
    const known = hidden.ms.map((_, i) => hidden.bands.reduce((sum, band) => sum + band.bytes[i], 0));
    const unknown = hidden.total.map((bytes, i) => Math.max(0, bytes - known[i]));
    new Chart(place, {
      label: 'Memory that no tensor accounts for, over time',
      ms: hidden.ms,
      areas: [
        ...hidden.bands.map(({ name, title, bytes }, i) => ({ name, title, color: `var(--band-${i})`, values: bytes })),
        { name: 'no line known', color: 'var(--band-other)', values: unknown },
      ],
      lines: [{ name: 'held by libtorch, not in tensors', color: 'var(--ink)', values: hidden.total }],
      marks,
    });
  }

  function showBirths(place) {
    new Chart(place, {
      label: 'Bytes by the time of their birth',
      ms: births.ms,
      areas: [{ name: 'still live at the end', color: 'var(--band-leak-0)', values: births.live }],
      lines: [{ name: 'made', color: 'var(--muted)', dash: '5 4', values: births.made }],
      marks,
    });
  }

  const place = (id) => document.getElementById(id);
  if (ms.length < 2) {
    for (const id of ['timeline', 'process', 'hidden']) {
      place(id)?.append(element('p', { className: 'note' }, 'Too few rounds for a chart.'));
    }
    return;
  }
  showSites(place('timeline'));
  showProcess(place('process'));
  if (hidden !== undefined) showHidden(place('hidden'));
  if (births === undefined || births.ms.length < 2) place('births')?.remove();
  else showBirths(place('births'));
})();
