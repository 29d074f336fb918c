/** Sorting and filtering of the table of sites. */
(() => {
  const table = document.getElementById('site-table');
  const filter = document.getElementById('filter');
  const found = document.getElementById('found');
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];

  function sort(heading) {
    const column = headings.indexOf(heading);
    const numeric = heading.classList.contains('number');
    // First click: numbers descending, names ascending.
    const first = numeric ? 'descending' : 'ascending';
    const other = numeric ? 'ascending' : 'descending';
    const order = heading.getAttribute('aria-sort') === first ? other : first;
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
