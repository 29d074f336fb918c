/** Output of `leak-audit export`, opened in speedscope: its own format, pprof, and collapsed stacks. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { type Browser, launch, picture } from './browser';
import { leakAudit, testFolder } from './command';
import { serviceCapture } from './service-capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const INDEX = require.resolve('speedscope/dist/release/index.html');

let browser: Browser;
beforeAll(async () => {
  writeFileSync(file('app.ltna'), serviceCapture().build());
  browser = await launch();
});
afterAll(() => browser?.close());

// The format that speedscope detects, and the title once it is drawn.
test.each([
  ['pprof', 'app.pb.gz', 'Importing as protobuf encoded pprof file', 'app.pb.gz - speedscope'],
  [
    'speedscope',
    'app.speedscope.json',
    'Importing as speedscope json file',
    'node /srv/shop/dist/main.js - speedscope',
  ],
  ['collapsed', 'app.txt', 'Importing as collapsed stack format', 'app.txt - speedscope'],
])('--%s', async (format, name, understood, title) => {
  const out = file(name);
  expect(await leakAudit(['export', file('app.ltna'), `--${format}`, out])).toMatchObject({ code: 0, stderr: '' });
  const script = file(`${name}.js`);
  const content = [name, readFileSync(out).toString('base64')].map((text) => JSON.stringify(text)).join(', ');
  writeFileSync(script, `speedscope.loadFileFromBase64(${content})`);

  const page = await browser.newPage({ viewport: { width: 1240, height: 700 } });
  page.setDefaultTimeout(limitMs(60_000));
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(`file://${INDEX}#localProfilePath=${script}`);
  await page.waitForFunction(`document.title === ${JSON.stringify(title)}`);
  await picture(page, `leak-audit-export-${format}`, false);
  expect(said).toContain(understood);
  await page.close();
});
