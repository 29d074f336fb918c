/** The page of `report --html` in a real browser. Its pictures are kept in build/artefacts. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { ARTEFACTS, type Browser, focusableNames, launch, open, type Page } from './browser';
import { CaptureBuilder } from './capture_builder';
import { leakAudit, testFolder } from './command';
import { serviceCapture } from './service_capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const picture = (page: Page, name: string) =>
  page.screenshot({ path: path.join(ARTEFACTS, `leak-audit-report-${name}.png`), fullPage: true });

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
      /^leak \/srv\/shop\/src\/classify\.ts:42:14 \(classify\) leaks 22\.5 MiB per minute \(720 tensors\), from the start/,
    );
    expect(headings.slice(1)).toEqual([
      'Live bytes by site',
      'Sites',
      'By allocation stack',
      'Age of live tensors',
      'Oldest tensors',
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
