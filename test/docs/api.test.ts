/** `npm run docs`: no warnings, a page for every op with the contents of its schema, and the guides, in a real browser. */
import * as fs from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { launch, picture } from '../audit/browser';
import { run } from '../support/child';
import { ROOT, torch } from '../support/torch';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'api-'));
let outcome: Awaited<ReturnType<typeof run>>;

beforeAll(async () => {
  outcome = await run(process.execPath, [path.join(ROOT, 'scripts/docs.mjs'), '--out', folder], { limitMs: 600_000 });
}, 600_000);
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** The words of a page. */
const page = (file: string): string =>
  fs
    .readFileSync(path.join(folder, file), 'utf8')
    .replace(/<script.*?<\/script>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&gt;/g, '>')
    .replace(/&lt;/g, '<')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ');

test('typedoc succeeds without warnings', () => {
  expect(outcome.code).toBe(0);
  expect(outcome.stdout + outcome.stderr).not.toMatch(/warning|error/i);
});

test('the output of programs is not coloured as if it were TypeScript', () => {
  const text = (file: string) => fs.readFileSync(path.join(folder, file), 'utf8');
  expect(text('index.html')).toContain('<code class="text">$ leak-audit run ');
  expect(text('documents/Errors.html')).toContain('<code class="text">');
});

test('every public op has a page, as a function and as a method', () => {
  const pages = new Set(fs.readdirSync(path.join(folder, 'functions')));
  const functionsOf = (space: object) =>
    Object.keys(space).filter((name) => !name.startsWith('_') && /^[a-z]/.test(name) && isOp(space, name));
  const isOp = (space: object, name: string) => typeof (space as Record<string, unknown>)[name] === 'function';
  const missing: string[] = [];
  const spaces: [string, object][] = [
    ['torch', torch],
    ...(['linalg', 'fft', 'special', 'sparse'] as const).map((name): [string, object] => [
      `torch.${name}`,
      torch[name],
    ]),
    ['torch.nn.functional', torch.nn.functional],
  ];
  let count = 0;
  for (const [space, object] of spaces) {
    for (const name of functionsOf(object)) {
      count++;
      if (!pages.has(`${space}.${name}.html`)) missing.push(`${space}.${name}`);
    }
  }
  const own = page('classes/torch.Tensor.html');
  for (let object = torch.Tensor.prototype; object !== Object.prototype; object = Object.getPrototypeOf(object)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      if (name.startsWith('_') || name === 'constructor' || typeof value !== 'function') continue;
      count++;
      if (!pages.has(`Tensor.${name}.html`) && !own.includes(`${name}(`) && !own.includes(`${name}<`))
        missing.push(`Tensor.${name}`);
    }
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(1800);
});

test('a page has the schema, the arguments, defaults, errors, and the first version', () => {
  const sum = page('functions/torch.sum.html');
  expect(sum).toContain('aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False');
  expect(sum).toContain('dimensions; negative ones count from the end');
  expect(sum).toContain('a boolean. Default: false');
  expect(sum).toContain('ERR_TORCH_INDEX for a dimension out of range');
  expect(sum).toMatch(/Since ?libtorch 1\.13 or before/);
  expect(page('functions/Tensor.add.html')).toContain('aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)');
  expect(page('functions/Tensor.add.html')).toContain('by name only. Default: 1');
  const loss = page('functions/torch.nn.functional.crossEntropy.html');
  expect(loss).toContain('torch.nn.functional.cross_entropy');
  expect(loss).toMatch(/Since ?any libtorch: the package composes it of ops/);
  expect(page('functions/torch.var.html')).toContain('aten::var');
  expect(page('functions/torch.scope.html')).toMatch(/scope/i);
  expect(page('classes/torch.Tensor.html')).toContain('requiresGrad');
  expect(page('types/types.Broadcast.html')).toContain('Broadcast');
});

test('the site in a browser: guides from the first screen, search, dark and light, nothing from elsewhere', async () => {
  const server = createServer((request, response) => {
    const file = path.join(folder, decodeURIComponent(new URL(request.url!, 'http://localhost').pathname));
    const kinds: Record<string, string> = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };
    kinds['.svg'] = 'image/svg+xml';
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': kinds[path.extname(file)] ?? 'application/octet-stream' });
    return fs.createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await launch();
  try {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme });
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => {
        if (!request.url().startsWith(origin)) complaints.push(request.url());
      });
      await page.goto(`${origin}/index.html`);
      const links = (await page.evaluate(
        "[...document.querySelectorAll('.col-content a')].filter((a) => a.getBoundingClientRect().bottom < 900).map((a) => a.textContent)",
      )) as string[];
      expect(links).toEqual(
        expect.arrayContaining(['installing', 'training', 'serving', 'lifetimes', 'finding leaks']),
      );
      await picture(page, `site-${colorScheme}`, false);
      const shade = await page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]',
      );
      expect([colorScheme, (shade as number) > 128]).toEqual([colorScheme, colorScheme === 'light']);
      for (const [word, wanted] of [
        ['crossEntropy', /torch\.nn\.functional\.crossEntropy\.html/],
        ['SIGTERM', /documents\/.*serving/i],
      ] as const) {
        await page.goto(`${origin}/index.html`);
        // The page's script may not have run yet.
        await page.waitForFunction(
          "document.querySelector('#tsd-search-input').offsetParent !== null || document.querySelector('#tsd-search-trigger').click()",
        );
        await page.locator('#tsd-search-input').fill(word);
        await page.waitForFunction(
          `[...document.querySelectorAll('#tsd-search-results a')].some((a) => ${wanted}.test(a.href))`,
        );
      }
      expect(complaints).toEqual([]);
      await page.close();
    }
    const narrow = await browser.newPage({ viewport: { width: 420, height: 900 } });
    await narrow.goto(`${origin}/index.html`);
    expect(await narrow.evaluate('document.documentElement.scrollWidth <= 420')).toBe(true);
    await narrow.close();
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}, 120_000);
