/** The page of `report --html` in a real browser. Its screenshots are kept in build/artefacts. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { type Browser, focusableNames, launch, open, type Page, picture as pictureOf } from './browser';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';
import { serviceCapture } from './service-capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const picture = (page: Page, name: string) => pictureOf(page, `leak-audit-report-${name}`);

let browser: Browser;
beforeAll(async () => {
  writeFileSync(file('app.ltna'), serviceCapture().build());
  await makePage('app.ltna', 'app.html');
  browser = await launch();
});
afterAll(() => browser?.close());

async function makePage(capture: string, html: string, ...options: string[]): Promise<void> {
  const outcome = await leakAudit(['report', file(capture), '--html', file(html), ...options]);
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
}

test('does not refer to external resources', () => {
  const html = readFileSync(file('app.html'), 'utf8');
  expect(html).not.toMatch(/https?:\/\/|\bsrc=|\bhref=|@import|url\(/);
});

test.each(['light', 'dark'] as const)(
  'is complete in %s: verdict first, charts, table, flames; nothing is loaded',
  async (colorScheme) => {
    const { page, complaints } = await open(browser, file('app.html'), { colorScheme });
    await picture(page, colorScheme);
    const headings = await page.getByRole('heading').allTextContents();
    expect(headings[0]).toMatch(
      /^leak \/srv\/shop\/src\/classify\.ts:42:14 \(classify\) leaks 22\.5 MiB \(720 tensors\) per minute, from the start/,
    );
    expect(headings.slice(1)).toEqual([
      'Live bytes by site',
      'Sites',
      'By allocation stack',
      'Age of live tensors',
      'Oldest tensors',
      'Memory that no tensor accounts for',
      'Memory outside tensors',
    ]);
    expect(await page.locator('#timeline polygon').count()).toBe(4);
    expect(await page.locator('#process polygon').count()).toBe(4);
    expect(await page.locator('#site-table tbody tr').count()).toBe(4);
    expect(await page.getByRole('treeitem').count()).toBe(10);
    const lightness = async (property: string) => {
      const rgb = await page.evaluate<string>(`getComputedStyle(document.body).${property}`);
      const parts = rgb.match(/\d+/g)!.slice(0, 3);
      return parts.reduce((sum, part) => sum + Number(part), 0);
    };
    const [paper, ink] = [await lightness('backgroundColor'), await lightness('color')];
    expect(paper > ink).toBe(colorScheme === 'light');
    expect(complaints).toEqual([]);
    await page.close();
  },
);

test.each([1240, 800, 390])('fits a window of %i pixels', async (width) => {
  const { page } = await open(browser, file('app.html'), { width });
  const beyond = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  if (width === 390) await picture(page, 'narrow');
  await page.close();
  expect(beyond).toBe(0);
});

test('all focusable elements have a name', async () => {
  const { page } = await open(browser, file('app.html'));
  const names = await focusableNames(page);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => name.trim() === '')).toEqual([]);
  await page.close();
});

test('the chart can be read and switched by keys', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  const chart = page.getByRole('slider', { name: /Live bytes by site/ });
  await chart.focus();
  await page.keyboard.press('Home');
  expect(await chart.getAttribute('aria-valuetext')).toMatch(/^250 ms: .*classify \(leak\) 96\.0 KiB/);
  await page.keyboard.press('ArrowRight');
  expect(await chart.getAttribute('aria-valuetext')).toMatch(/^500 ms: .*classify \(leak\) 192\.0 KiB/);
  expect(await chart.locator('.reading').isVisible()).toBe(true);
  await picture(page, 'reading');
  await page.keyboard.press('Escape');
  expect(await chart.locator('.reading').isVisible()).toBe(false);
  const rss = page.locator('#timeline').getByRole('button', { name: 'process (RSS)' });
  expect(await rss.getAttribute('aria-pressed')).toBe('false'); // it would flatten the rest
  await rss.press('Enter');
  expect(await rss.getAttribute('aria-pressed')).toBe('true');
  expect(await page.locator('#timeline polyline').count()).toBe(2);
  expect(await chart.getAttribute('aria-valuetext')).toContain('process (RSS) 95.4 MiB');
  expect(complaints).toEqual([]);
  await page.close();
});

test('flames: three values, zoom, and the keys of a tree', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  const tree = page.getByRole('tree');
  const selected = () => page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
  await tree.getByRole('treeitem').first().focus();
  await page.keyboard.press('ArrowDown');
  expect(await selected()).toBe('main  /srv/shop/src/main.ts:12:3: 14.6 MiB, 100.0%');
  await page.keyboard.press('ArrowDown');
  expect(await selected()).toBe('postImage  /srv/shop/src/routes.ts:7:5: 6.0 MiB, 41.1%');
  await page.keyboard.press('ArrowRight');
  expect(await selected()).toBe('postBatch  /srv/shop/src/routes.ts:19:5: 3.0 MiB, 20.5%');
  await page.keyboard.press('Enter'); // closer
  const box = tree.getByRole('treeitem', { name: /^postBatch/ });
  expect(await box.getAttribute('style')).toContain('width: 100%;');
  expect(await tree.getByRole('treeitem').count()).toBe(4);
  await page.keyboard.press('Escape'); // and back
  await page.keyboard.press('Escape');
  expect(await tree.getByRole('treeitem').count()).toBe(10);
  await page.getByRole('radio', { name: /^growth/ }).check();
  expect(await tree.getByRole('treeitem').allTextContents()).toEqual([
    'all',
    'main  /srv/shop/src/main.ts:12:3',
    'postImage  /srv/shop/src/routes.ts:7:5',
    'classify  /srv/shop/src/classify.ts:42:14',
    'postBatch  /srv/shop/src/routes.ts:19:5',
    'classify  /srv/shop/src/classify.ts:42:14',
  ]);
  expect(complaints).toEqual([]);
  await page.close();
});

test('a range, by drag or sliders, aggregates the table and the flames; the high-water mark is one', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  const figures = async () =>
    await page.locator('#site-table tbody tr:first-child td:nth-last-child(-n+6)').allTextContents();
  const widths = async () =>
    (await page.getByRole('radio').first().locator('xpath=../..').locator('label').allTextContents()).map((text) =>
      text.trim(),
    );
  const whole = await figures();
  expect(whole.slice(0, 4)).toEqual(['288', '9.0 MiB', '4,032', '126.0 MiB']);
  const box = await page.evaluate<{ x: number; y: number; width: number }>(
    "(({ x, y, width }) => ({ x, y, width }))(document.querySelector('#timeline .plot').getBoundingClientRect())",
  );
  const at = (share: number) => [box.x + 72 + share * (box.width - 82), box.y + 100] as const;
  await page.mouse.move(...at(0.25));
  await page.mouse.down();
  await page.mouse.move(...at(0.4));
  await page.mouse.move(...at(0.75));
  await page.mouse.up();
  const note = page.locator('#range .note');
  // Chosen are the steps next to 6.2 s and 18.1 s: rounds 25 or so and 72 or so.
  const [, from, to] = /show (\d+\.\d) s to (\d+\.\d) s/.exec((await note.textContent())!)!;
  const [first, last] = [Number(from) * 4, Number(to) * 4].map(Math.round) as [number, number];
  expect([first > 22 && first < 28, last > 69 && last < 76]).toEqual([true, true]);
  expect(await figures()).toEqual([
    String(3 * last),
    `${((last * 98_304) / 2 ** 20).toFixed(1)} MiB`,
    (42 * (last - first)).toLocaleString('en'),
    `${(((last - first) * 1_376_256) / 2 ** 20).toFixed(1)} MiB`,
    '22.5 MiB',
    '–',
  ]);
  expect(await page.locator('#timeline rect.outside').count()).toBe(2);
  await picture(page, 'range');
  // What grew in it: the leak, by its two stacks, and less of the sawtooth than nothing.
  expect((await widths())[2]).toMatch(/^net growth \(/);
  await page.getByRole('button', { name: /^High-water mark \(15\.9 MiB at 23\.8 s\)/ }).press('Enter');
  expect(await note.textContent()).toMatch(/show the start to 23\.8 s/);
  expect((await widths())[0]).toBe('live at its end (15.9 MiB)');
  const begin = page.getByRole('slider', { name: 'Begin of the range' });
  await begin.press('ArrowRight');
  expect(await begin.getAttribute('aria-valuetext')).not.toBe('the start');
  await page.getByRole('button', { name: 'Whole recording' }).press('Enter');
  expect(await figures()).toEqual(whole);
  expect((await widths())[0]).toBe('live (14.6 MiB)');
  expect(complaints).toEqual([]);
  await page.close();
});

test('a range shows what was allocated in it and still lives, what was allocated, or what grew', async () => {
  const builder = new CaptureBuilder()
    .site(1, ['/srv/keep.js', 1, 1, 'keep'])
    .site(2, ['/srv/window.js', 2, 1, 'shift'])
    .site(3, ['/srv/parts.js', 3, 1, 'read'])
    .site(4, ['/srv/parts.js', 4, 1, 'slice']);
  // One KiB a round that stays; one that lives for four rounds; one whose view keeps it from its third round on.
  for (let i = 1; i <= 40; i++) {
    const at = { birthMs: i * 250 - 100, bytes: 1024 };
    if (i > 4) builder.deaths(1000 + i - 4);
    if (i > 2) builder.deaths(2000 + i - 2);
    builder.births(
      { ...at, id: i, site: 1 },
      { ...at, id: 1000 + i, site: 2 },
      { ...at, id: 2000 + i, site: 3, storage: 2000 + i },
      { ...at, id: 3000 + i, site: 4, storage: 2000 + i, isView: true },
    );
    const live = (site: number, n: number, bytes: number, made = i) => ({
      ...{ site, liveTensors: n, liveBytes: bytes * 1024, allocatedTensors: i, allocatedBytes: made * 1024 },
    });
    builder.tick({ ms: i * 250 }, [
      live(1, i, i),
      live(2, Math.min(i, 4), Math.min(i, 4)),
      live(3, Math.min(i, 2), Math.min(i, 2)),
      live(4, i, Math.max(0, i - 2), 0),
    ]);
  }
  writeFileSync(file('kept.ltna'), builder.end().build());
  await makePage('kept.ltna', 'kept.html');
  const { page, complaints } = await open(browser, file('kept.html'), { width: 420 });
  const choice = page.getByRole('radio', { name: /^allocated in it and still live/ });
  expect(await choice.count()).toBe(0);
  const begin = page.getByRole('slider', { name: 'Begin of the range' });
  const end = page.getByRole('slider', { name: 'End of the range' });
  await begin.focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowRight'); // round 11
  await end.focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowLeft'); // round 30
  expect(await page.locator('#range .note').textContent()).toMatch(
    /show 2\.8 s to 7\.5 s: what was allocated in it and/,
  );
  const lines = async () => await page.locator('#site-table tbody tr td:nth-child(2)').allTextContents();
  const cells = async (line: string) => {
    const row = page.locator(`#site-table tbody tr:has-text("${line}") td:nth-last-child(-n+6)`);
    return (await row.allTextContents()).slice(0, 4);
  };
  expect(await cells('keep.js:1')).toEqual(['19', '19.0 KiB', '19', '19.0 KiB']);
  expect(await cells('window.js:2')).toEqual(['4', '4.0 KiB', '19', '19.0 KiB']);
  expect(await cells('parts.js:3')).toEqual(['2', '2.0 KiB', '19', '19.0 KiB']);
  expect(await cells('parts.js:4')).toEqual(['19', '17.0 KiB', '19', '0 B']);
  const labels = async () => await page.locator('#range .choices label').allTextContents();
  expect(await labels()).toEqual([
    'allocated in it and still live (42.0 KiB)',
    'allocated in it (57.0 KiB)',
    'net growth (38.0 KiB)',
  ]);
  await page
    .locator('#range')
    .getByRole('radio', { name: /^net growth/ })
    .check();
  expect(await page.locator('#flame .choices input:checked').count()).toBe(1);
  expect(
    (await lines())
      .slice(0, 2)
      .map((line) => /\w+\.js:\d/.exec(line)![0])
      .sort(),
  ).toEqual(['keep.js:1', 'parts.js:4']);
  const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await page.evaluate<number>(beyond)).toBe(0);
  await picture(page, 'kept');
  expect(complaints).toEqual([]);
  await page.close();
});

test('hidden memory has its own history and flames, by the lines whose graphs hold it', async () => {
  const builder = new CaptureBuilder()
    .site(1, ['/srv/train.ts', 10, 5, 'step'], ['/srv/main.ts', 3, 1, 'main'])
    .site(2, ['/srv/eval.ts', 20, 5, 'evaluate'], ['/srv/main.ts', 9, 1, 'main']);
  for (let i = 1; i <= 60; i++) {
    builder.graphs({ site: 1, tensors: 1, nodes: 10 * i, flags: 2, hiddenStorages: i, hiddenBytes: i * 2 ** 16 });
    builder.tick({ ms: i * 250, allocatedBytes: 2 ** 20 + i * 2 ** 16 + 8192, collections: i }, [
      { site: 1, liveTensors: 2, liveBytes: 4096, allocatedTensors: 10 * i, allocatedBytes: i * 2 ** 16 },
      { site: 2, liveTensors: 1, liveBytes: 4096, allocatedTensors: 10 * i, allocatedBytes: i * 4096 },
    ]);
  }
  writeFileSync(file('hidden.ltna'), builder.end().build());
  await makePage('hidden.ltna', 'hidden.html');
  const { page, complaints } = await open(browser, file('hidden.html'), { width: 420, colorScheme: 'dark' });
  await picture(page, 'hidden');
  const chart = page.getByRole('slider', { name: /Memory that no tensor accounts for/ });
  await chart.focus();
  await page.keyboard.press('End');
  expect(await chart.getAttribute('aria-valuetext')).toBe(
    '15.0 s: held by libtorch, not in tensors 4.8 MiB; no line known 1.0 MiB; train.ts:10 step 3.8 MiB',
  );
  const tree = page.getByRole('tree', { name: 'Stacks of memory that no tensor accounts for' });
  expect(await tree.getByRole('treeitem').allTextContents()).toEqual([
    'all',
    'main  /srv/main.ts:3:1',
    'step  /srv/train.ts:10:5',
    '(no line known)',
  ]);
  const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await page.evaluate<number>(beyond)).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

test('the table can be sorted by its headings, also by keys, and filtered', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  const column = async (index: number) =>
    await page.locator(`#site-table tbody tr:not([hidden]) td:nth-child(${index})`).allTextContents();
  expect(await column(1)).toEqual(['leak> 99.9% sure', 'full cache', 'steady', 'sawtooth']);
  await page.getByRole('columnheader', { name: 'verdict' }).getByRole('button').press('Enter');
  expect(await column(1)).toEqual(['leak> 99.9% sure', 'full cache', 'sawtooth', 'steady']);
  const heading = page.getByRole('columnheader', { name: 'allocated' });
  await heading.getByRole('button').press('Enter');
  expect(await column(6)).toEqual(['5,760', '4,032', '24', '12']);
  expect(await heading.getAttribute('aria-sort')).toBe('descending');
  await heading.getByRole('button').press(' ');
  expect(await column(6)).toEqual(['12', '24', '4,032', '5,760']);
  expect(await heading.getAttribute('aria-sort')).toBe('ascending');
  await page.getByRole('searchbox', { name: 'Filter' }).fill('CACHE.ts');
  expect(await column(2)).toEqual([expect.stringContaining('cache.ts:8:22')]);
  expect(await page.locator('#found').textContent()).toBe('1 of 4 sites');
  await page.getByRole('searchbox').fill('');
  await page.locator('summary').first().press('Enter');
  expect(await page.locator('details[open] li').allTextContents()).toEqual(
    expect.arrayContaining([expect.stringContaining('main  /srv/shop/src/main.ts:12:3')]),
  );
  expect(complaints).toEqual([]);
  await page.close();
});

test('a page of a long run with many sites has few elements, and opens with them', async () => {
  const sites = 1000;
  const builder = new CaptureBuilder();
  for (let site = 1; site <= sites; site++) {
    builder.site(site, [`/srv/part${site % 20}.js`, site, 9, `f${site}`], ['/srv/main.js', site % 7, 1, 'main']);
  }
  for (let i = 1; i <= 1200; i++) {
    const site = 1 + (i % sites);
    builder.tick({ ms: i * 1000 }, [{ site, liveTensors: i, liveBytes: i * 1024 * site }]);
  }
  writeFileSync(file('many.ltna'), builder.end().build());
  await makePage('many.ltna', 'many.html');
  expect(statSync(file('many.html')).size).toBeLessThan(2 * 2 ** 20);
  const { page, complaints } = await open(browser, file('many.html'));
  expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(20_000);
  expect(await page.locator('#site-table tbody tr').count()).toBe(300);
  expect(await page.locator('#timeline polygon').count()).toBe(9); // eight bands, and all other sites
  expect(complaints).toEqual([]);
  await page.close();
});

test('names that look like markup are shown as they are', async () => {
  const evil = '</script><script>alert(1)</script><img src=x onerror=alert(2)>';
  const builder = new CaptureBuilder({ command: `node ${evil}` }).site(1, [`/srv/${evil}.js`, 1, 1, `"'${evil}`]);
  for (let i = 1; i <= 48; i++) builder.tick({ ms: i * 250 }, [{ site: 1, liveTensors: i, liveBytes: i * 1024 }]);
  writeFileSync(file('evil.ltna'), builder.end().build());
  await makePage('evil.ltna', 'evil.html');
  const { page, complaints } = await open(browser, file('evil.html'));
  expect(await page.locator('h1').textContent()).toContain(evil);
  expect(await page.getByRole('treeitem').last().textContent()).toContain(evil);
  expect(await page.locator('img').count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

test('captures of one round and of zero rounds have a page too', async () => {
  const one = new CaptureBuilder().site(1, ['/a.js', 1, 1]);
  one.tick({ ms: 250 }, [{ site: 1, liveTensors: 1, liveBytes: 8 }]);
  writeFileSync(file('one.ltna'), one.build());
  writeFileSync(file('none.ltna'), new CaptureBuilder().build());
  for (const name of ['one', 'none']) {
    await makePage(`${name}.ltna`, `${name}.html`);
    const { page, complaints } = await open(browser, file(`${name}.html`));
    expect(await page.locator('h1 .badge').textContent()).toBe('insufficient');
    expect(complaints).toEqual([]);
    await page.close();
  }
});

test('--redact-sources removes all names of files, functions and commands', async () => {
  await makePage('app.ltna', 'redacted.html', '--redact-sources', '--json', file('redacted.json'));
  for (const name of ['redacted.html', 'redacted.json']) {
    const text = readFileSync(file(name), 'utf8');
    expect(text).toMatch(/file-1/);
    expect(text).not.toMatch(/\/srv|shop|classify|routes\.|postImage|step;now|train, /);
  }
  const { page, complaints } = await open(browser, file('redacted.html'));
  expect(await page.locator('h1').textContent()).toContain('file-1:42:14 (function-1) leaks');
  await picture(page, 'redacted');
  expect(complaints).toEqual([]);
  await page.close();
});
