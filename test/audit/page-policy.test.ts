/** The page's policy. Every test of the page fails on a violation; these tests check the policy itself. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { type Browser, launch, open } from './browser';
import { leakAudit, testFolder } from './command';
import { serviceCapture } from './service-capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

let browser: Browser;
let html: string;
beforeAll(async () => {
  writeFileSync(file('app.ltna'), serviceCapture().build());
  expect(await leakAudit(['report', file('app.ltna'), '--html', file('app.html')])).toMatchObject({ code: 0 });
  html = readFileSync(file('app.html'), 'utf8');
  browser = await launch();
});
afterAll(() => browser?.close());

test('allows only content with a listed hash', () => {
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)![1]!;
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; script-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'none'$/,
  );
  expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<style>'));
  expect(html).not.toMatch(/ style=| on\w+=/);
});

test('the page itself does not violate the policy', async () => {
  const { page, complaints } = await open(browser, file('app.html'));
  await page.getByRole('slider', { name: /Live bytes by site/ }).focus();
  for (const key of ['Home', 'ArrowRight', 'PageDown', 'Escape']) await page.keyboard.press(key);
  for (const name of ['libtorch', 'RSS'])
    await page
      .locator('#timeline')
      .getByRole('button', { name: new RegExp(name) })
      .first()
      .press('Enter');
  await page.getByRole('treeitem').first().focus();
  for (const key of ['ArrowDown', 'Enter', 'Escape']) await page.keyboard.press(key);
  await page.getByRole('radio', { name: /^growth/ }).check();
  await page.getByRole('columnheader', { name: 'allocated' }).getByRole('button').press('Enter');
  await page.getByRole('searchbox', { name: 'Filter' }).fill('cache');
  await page.locator('summary').first().press('Enter');
  const painted = await page.evaluate<number>(
    "[...document.querySelectorAll('.legend i')].filter((i) => getComputedStyle(i).backgroundColor !== 'rgba(0, 0, 0, 0)').length",
  );
  expect(painted).toBe(await page.locator('.legend i').count());
  const widths = await page.evaluate<number[]>(
    "[...document.querySelectorAll('.ages .sure')].map((bar) => bar.getBoundingClientRect().width)",
  );
  expect(Math.max(...widths)).toBeGreaterThan(20);
  expect(complaints).toEqual([]);
  await page.close();
});

test.each([
  ['an inline script', '<script>document.title = "owned"</script>', 'script-src-elem'],
  ['a handler', '<svg onload="document.title = `owned`"></svg>', 'script-src-attr'],
  ['a style', '<style>body { display: none }</style>', 'style-src-elem'],
  ['a base', '<base href="http://127.0.0.1:1/">', 'base-uri'],
  ['a picture', '<img src="http://127.0.0.1:1/x.png">', 'img-src'],
])('%s injected into the page does nothing', async (_name, injected, directive) => {
  writeFileSync(file('injected.html'), html.replace('<main>', `<main>${injected}`));
  const { page, complaints } = await open(browser, file('injected.html'));
  await page.waitForFunction("document.readyState === 'complete'");
  expect(await page.evaluate<string>('document.title')).toBe('leak-audit: leak');
  expect(await page.locator('#timeline polygon').count()).toBeGreaterThan(1); // the page's own script ran
  expect(complaints.join('\n')).toContain(`policy: ${directive}`);
  await page.close();
});

test('a form injected into the page is not sent', async () => {
  const form = '<form id="f" action="http://127.0.0.1:1/"><input name="x" value="y"></form>';
  writeFileSync(file('form.html'), html.replace('<main>', `<main>${form}`));
  const { page, complaints } = await open(browser, file('form.html'));
  await page.evaluate("document.getElementById('f').submit()");
  await page.waitForFunction("document.readyState === 'complete'");
  expect(complaints.join('\n')).toMatch(/form-action/);
  await page.close();
});
