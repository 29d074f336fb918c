/** The README on the registry's page: absolute links at pack time, and the checkout's own afterwards. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder } from './folder';

const address = 'https://example.org/a/b';
const manifest = { version: '1.2.3', repository: { url: `git+${address}.git` } };

async function rewritten(text: string): Promise<string> {
  const script = `
    import { forRegistry } from ${JSON.stringify(pathToFileURL(path.join(ROOT, 'scripts/steps/registry-readme.mjs')).href)};
    process.stdout.write(forRegistry(${JSON.stringify(text)}, ${JSON.stringify(manifest)}));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

it('links and images become absolute, at the tag; the rest stays', async () => {
  const text = [
    '[a](docs/a.md#b) · [c](./docs/c.md "title") ![p](docs/p.png) [![q](q.svg)](docs/q.md)',
    '[here](#top) [there](https://example.com/x) [mail](mailto:a@b.c)',
    '[ref]: docs/ref.md',
    '<a href="docs/h.md"><img alt="i" src="docs/i.png"></a>',
    'call `f[0](x)` and `[a](docs/a.md)`',
    '```\n[code](docs/code.md)\n```',
  ].join('\n\n');
  const at = (kind: string, name: string) => `${address}/${kind}/v1.2.3/${name}`;
  expect(await rewritten(text)).toBe(
    [
      `[a](${at('blob', 'docs/a.md#b')}) · [c](${at('blob', 'docs/c.md')} "title") ![p](${at('raw', 'docs/p.png')}) [![q](${at('raw', 'q.svg')})](${at('blob', 'docs/q.md')})`,
      '[here](#top) [there](https://example.com/x) [mail](mailto:a@b.c)',
      `[ref]: ${at('blob', 'docs/ref.md')}`,
      `<a href="${at('blob', 'docs/h.md')}"><img alt="i" src="${at('raw', 'docs/i.png')}"></a>`,
      'call `f[0](x)` and `[a](docs/a.md)`',
      '```\n[code](docs/code.md)\n```',
    ].join('\n\n'),
  );
});

it('npm pack packs the rewritten one and restores the own, also after an interrupted packing', async () => {
  const at = folder();
  for (const name of ['scripts/paths.mjs', 'scripts/steps/registry-readme.mjs']) {
    fs.mkdirSync(path.dirname(path.join(at, name)), { recursive: true });
    fs.copyFileSync(path.join(ROOT, name), path.join(at, name));
  }
  const form = (option: string) => `node scripts/steps/registry-readme.mjs ${option}`;
  const { postpack } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')).scripts;
  expect(postpack).toBe(form('--restore'));
  const scripts = { prepack: form('--write'), postpack };
  fs.writeFileSync(path.join(at, 'package.json'), JSON.stringify({ name: 'x', files: [], scripts, ...manifest }));
  const text = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  fs.writeFileSync(path.join(at, 'README.md'), text);
  const sh = (command: string) => run('sh', ['-c', `cd "$0" && ${command}`, at], { env: ordinaryEnv() });
  expect((await sh(form('--write'))).code).toBe(0); // and then the machine lost its power
  expect((await sh('npm pack')).code).toBe(0);
  expect(fs.readFileSync(path.join(at, 'README.md'), 'utf8')).toBe(text);
  const names = (await sh('tar -tzf x-1.2.3.tgz')).stdout.trim().split('\n').sort();
  expect(names).toEqual(['package/README.md', 'package/package.json']);
  const packed = (await sh('tar -xzOf x-1.2.3.tgz package/README.md')).stdout;
  expect(packed).toContain(`[installing](${address}/blob/v1.2.3/docs/installing.md)`);
  expect(packed).not.toMatch(/\]\((?!https?:|#|mailto:)[^)]*\)/);
  expect(fs.readdirSync(at).filter((name) => name.includes('before-pack'))).toEqual([]);
});
