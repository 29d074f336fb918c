/** Sorting and filtering of the table of sites. */
(() => {
  const { formatBytes, range } = globalThis.page;
  const table = document.getElementById('site-table');
  const filter = document.getElementById('filter');
  const found = document.getElementById('found');
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const inReport = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];

  function sort(heading, wanted) {
    const column = headings.indexOf(heading);
    const numeric = heading.classList.contains('number');
    // First click: numbers descending, names ascending.
    const first = numeric ? 'descending' : 'ascending';
    const other = numeric ? 'ascending' : 'descending';
    const order = wanted ?? (heading.getAttribute('aria-sort') === first ? other : first);
    for (const one of headings) one.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    const value = (row) => row.cells[column].dataset.v;
    const isNumber = numeric || column === 0;
    rows.sort(
      (a, b) => sign * (isNumber ? value(a) - value(b) : value(a).localeCompare(value(b), 'en', { numeric: true })),
    );
    body.append(...rows);
  }

  const cells = inReport.map((row) => [...row.cells].slice(-6).map((cell) => [cell, cell.textContent, cell.dataset.v]));
  /** The figures of the chosen part of the recording; those of the report for the whole. */
  function showRange(isChosen) {
    for (const [i, row] of cells.entries()) {
      const site = range.span === undefined ? undefined : range.siteIn(i);
      const count = (value) => [Math.round(value).toLocaleString('en-US'), value];
      const figures =
        site === undefined
          ? []
          : [
              count(site.liveTensors),
              [formatBytes(site.live), site.live],
              count(site.allocatedTensors),
              [formatBytes(site.allocated), site.allocated],
              [formatBytes(site.growthPerMinute), site.growthPerMinute],
              ['–', -1],
            ];
      for (const [k, [cell, text, value]] of row.entries()) {
        const unknown = range.span === undefined ? [text, value] : ['–', -1];
        [cell.textContent, cell.dataset.v] = figures[k] ?? unknown;
      }
    }
    // By what the range shows: bytes that are still live, allocated, grown.
    if (isChosen) sort(headings.at([-5, -3, -2][range.value - 1]), 'descending');
    const sorted = headings.find((heading) => heading.hasAttribute('aria-sort'));
    if (sorted !== undefined) sort(sorted, sorted.getAttribute('aria-sort'));
  }
  range.onChange(showRange);

  for (const heading of headings) {
    heading.querySelector('button')?.addEventListener('click', () => sort(heading));
  }
  filter.addEventListener('input', () => {
    const word = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(word);
      if (!row.hidden) shown++;
    }
    found.textContent = word === '' ? '' : `${shown} of ${rows.length} sites`;
  });
})();
