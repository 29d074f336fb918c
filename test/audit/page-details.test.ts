/** The page's details of single tensors and labels, if the capture has them. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { type Browser, launch, open, picture } from './browser';
import { type BirthInput, CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const ROUNDS = 60;

/** Under two routes; each second a tensor of either, of which those of /upload stay. A view outlives its base. */
function detailed(): CaptureBuilder {
  const builder = new CaptureBuilder()
    .site(1, ['/srv/upload.ts', 5, 3, 'keep'], ['/srv/main.ts', 1, 1, 'main'])
    .site(2, ['/srv/ping.ts', 9, 3, 'answer'], ['/srv/main.ts', 1, 1, 'main'])
    .shape(1, [8, 32])
    .shape(2, [4])
    .label(1, { route: '/upload' })
    .label(2, { route: '/ping' });
  builder.births({ id: 1, site: 2, shape: 2, birthMs: -2000, bytes: 500_000, storage: 900 });
  for (let i = 1; i <= ROUNDS; i++) {
    const born: BirthInput[] = [
      { id: 2 * i, site: 1, label: 1, shape: 1, birthMs: i * 1000 - 400, bytes: 1024 },
      { id: 2 * i + 1, site: 2, label: 2, shape: 2, birthMs: i * 1000 - 300, bytes: 16 },
    ];
    builder.births(...born).deaths(2 * i + 1);
    builder.tick({ ms: i * 1000 }, [
      { site: 1, label: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 600 },
      { site: 2, label: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: i, allocatedBytes: i * 16 },
      { site: 2, liveTensors: 1, liveBytes: 500_000, oldestBirthMs: -2000 },
    ]);
  }
  return builder.end();
}

let browser: Browser;
beforeAll(async () => {
  writeFileSync(file('app.ltna'), detailed().build());
  for (const [html, ...options] of [['app.html'], ['redacted.html', '--redact-sources']] as [string, ...string[]][]) {
    const outcome = await leakAudit(['report', file('app.ltna'), '--html', file(html), ...options]);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
  }
  browser = await launch();
});
afterAll(() => browser?.close());

const cells = async (texts: Promise<string[]>) => (await texts).map((text) => text.replace(/\s+/g, ' ').trim());

test('the oldest tensors, with shape, dtype and bytes; ages are exact', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  await picture(page, 'leak-audit-report-details');
  const row = (heading: string, nth: number) =>
    cells(page.locator(`section:has(> #${heading}) table tbody tr:nth-child(${nth}) > *`).allTextContents());
  expect(await row('h-oldest', 1)).toEqual([
    '1 min 2 s',
    '[4]',
    'float32',
    'cpu',
    '488.3 KiB',
    '?', // a capture from before owners were recorded
    '?',
    '/srv/ping.ts:9:3 answer',
  ]);
  expect(await row('h-oldest', 2)).toEqual([
    '59.4 s',
    '60 × [8, 32]', // of the same site and shape, in one row
    'float32',
    'cpu',
    '1.0 KiB',
    '?',
    '?',
    '/srv/upload.ts:5:3 keep',
  ]);
  const age = page.locator('section:has(> #h-age)');
  expect(await age.textContent()).toContain('Each storage counts once');
  // 400 ms, then 1.4 s to 9.4 s, then 10.4 s to 59.4 s.
  expect(await row('h-age', 2)).toEqual(['100 ms – 1.0 s', '', '1.0 KiB', '0%']);
  expect(await row('h-age', 3)).toEqual(['1.0 s – 10.0 s', '', '9.0 KiB', '2%']);
  expect(complaints).toEqual([]);
  await page.close();
});

test('the owners of the oldest tensors, and whether a collection reached their objects', async () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.ts', 5, 3, 'make']);
  builder.births(
    { id: 1, site: 1, birthMs: 0, owner: 1 },
    { id: 2, site: 1, birthMs: 10, owner: 3 },
    { id: 3, site: 1, birthMs: 20, owner: 3 },
    { id: 4, site: 1, birthMs: 30, owner: 2 },
    { id: 5, site: 1, birthMs: 40, owner: 3 },
  );
  builder.scopes([2, 0x100003], [3, 0x100004]);
  builder.tick({ ms: 1000 }, [{ site: 1, liveTensors: 5, liveBytes: 20 }]).tick({ ms: 2000 });
  builder.kept(3).tick({ ms: 3000 });
  builder.births({ id: 6, site: 1, birthMs: 3500, owner: 1 });
  builder.tick({ ms: 4000, collectedMs: 2500 }, [{ site: 1, liveTensors: 6, liveBytes: 24 }]).end();
  writeFileSync(file('owners.ltna'), builder.build());
  await leakAudit(['report', file('owners.ltna'), '--html', file('owners.html')]);
  const { page, complaints } = await open(browser, file('owners.html'));
  const column = (nth: number) =>
    cells(page.locator(`section:has(> #h-oldest) tbody td:nth-child(${nth})`).allTextContents());
  expect(await column(6)).toEqual(['collector', 'scope 3', 'kept', 'kept', 'scope', 'collector']);
  expect(await column(7)).toEqual([
    ...['referenced', 'held by the scope', 'referenced', 'referenced', 'held by the scope', 'perhaps garbage'],
  ]);
  expect(complaints).toEqual([]);
  await page.close();
});

test('each value of a label has its line', async () => {
  const { page } = await open(browser, file('app.html'));
  const table = page.locator('section:has(> #h-label) tbody');
  expect(await cells(table.locator('tr:nth-child(1) > *').allTextContents())).toEqual([
    'without',
    '1',
    '488.3 KiB',
    '1',
    '488.3 KiB',
  ]);
  expect(await cells(table.locator('tr:nth-child(2) > *').allTextContents())).toEqual([
    '/upload',
    '60',
    '60.0 KiB',
    '60',
    '60.0 KiB',
  ]);
  await page.close();
});

test('redaction removes the values of labels too', () => {
  const html = readFileSync(file('redacted.html'), 'utf8');
  expect(html).toContain('<code>value-1</code>');
  expect(html).not.toMatch(/\/upload|\/ping|srv|keep|answer/);
});
