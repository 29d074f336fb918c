/** The words of the page: names of leaks, since when they grow, source in tooltips; nothing overflows a phone. */
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { type Browser, launch, open, picture } from './browser';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const ROUNDS = 60;

/** Two leaks of one file, far down a long path; the second begins late. */
function twoLeaks(): CaptureBuilder {
  const source = file(`${'a-long-name-of-a-folder-'.repeat(4)}handlers.js`);
  writeFileSync(
    source,
    'function handle() {\n  images.push(decode(body));\n  if (debug) shown.push(resize(x, "<b>"));\n}\n',
  );
  const builder = new CaptureBuilder()
    .site(1, [source, 2, 15, 'handle'], [file('main.js'), 1, 1, 'main'])
    .site(2, [source, 3, 24, 'handle'], [file('main.js'), 1, 1, 'main'])
    .shape(1, [16, 16]);
  for (let i = 1; i <= ROUNDS; i++) {
    builder.births({ id: i, site: 1, shape: 1, birthMs: i * 1000 - 500, bytes: 1024, owner: 1 });
    const late = Math.max(1, i - 24);
    builder.tick({ ms: i * 1000 }, [
      { site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 500 },
      { site: 2, liveTensors: late, liveBytes: late * 1024, oldestBirthMs: 500 },
    ]);
  }
  return builder.end();
}

let browser: Browser;
beforeAll(async () => {
  writeFileSync(file('two.ltna'), twoLeaks().build());
  const outcome = await leakAudit(['report', file('two.ltna'), '--html', file('two.html')]);
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  browser = await launch();
});
afterAll(() => browser?.close());

test('two leaks of one file have their lines in the legend, and the late one a mark where it begins', async () => {
  const { page, complaints } = await open(browser, file('two.html'));
  await picture(page, 'leak-audit-report-words');
  const names = await page.locator('#timeline .legend button').allTextContents();
  expect(names.slice(0, 2).sort()).toEqual([
    expect.stringMatching(/handlers\.js:2 handle \(leak\)$/),
    expect.stringMatching(/handlers\.js:3 handle \(leak\)$/),
  ]);
  expect(await page.locator('#timeline .mark.onset').count()).toBe(1);
  expect(await page.locator('#timeline .mark-name').allTextContents()).toEqual([
    expect.stringMatching(/handlers\.js:3 handle grows$/),
  ]);
  expect(await page.locator('#births polygon').count()).toBe(1);
  expect(await page.locator('section:has(> #h-oldest) tbody tr td:nth-child(2)').allTextContents()).toEqual([
    '60 × [16, 16]',
  ]);
  const tooltip = await page.locator('#site-table summary code').allTextContents();
  expect(tooltip).toHaveLength(2);
  const titles = await page.evaluate<string[]>(
    '[...document.querySelectorAll("#site-table summary code")].map((one) => one.title).sort()',
  );
  expect(titles[0]).toBe(
    '1  function handle() {\n2    images.push(decode(body));\n3    if (debug) shown.push(resize(x, "<b>"));',
  );
  const flames = await page.evaluate<string[]>(
    '[...document.querySelectorAll("[role=treeitem]")].map((one) => one.title)',
  );
  expect(flames.join('\n')).toContain('\nimages.push(decode(body));');
  expect(complaints).toEqual([]);
  await page.close();
});

test.each(['light', 'dark'] as const)('nothing overflows 420 pixels, %s', async (colorScheme) => {
  const { page } = await open(browser, file('two.html'), { width: 420, colorScheme });
  await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
  await picture(page, `leak-audit-report-420-${colorScheme}`);
  // Beyond the window is only what scrolls by itself.
  const beyond = await page.evaluate<string[]>(
    `[...document.querySelectorAll('body *')].filter((one) => one.closest('.scroll, .reading') === null &&
      one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      .map((one) => one.outerHTML.slice(0, 120))`,
  );
  expect(beyond).toEqual([]);
  await page.close();
});
