/** What the package brings for people: documents whose links hold inside it, and examples that run where it is installed. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { command, files, install, installed, project } from './installed';

jest.setTimeout(limitMs(240_000));
beforeAll(install, limitMs(240_000));

const textOf = (name: string) => fs.readFileSync(path.join(installed, name), 'utf8');

/** Markdown without what stands in fences and in code. */
const prose = (text: string) => text.replace(/^( *)(```+)[\s\S]*?^\1\2$/gm, '').replace(/(`+)[^`][\s\S]*?\1(?!`)/g, '');

/** The anchors of a page's headings, as they are made on pages of repositories and of packages. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(
    ([, title]) => title!,
  );
  const anchors = new Set<string>();
  for (const title of headings) {
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let name = slug;
    for (let i = 1; anchors.has(name); i++) name = `${slug}-${i}`;
    anchors.add(name);
  }
  return anchors;
}

const documents = () => files().filter((name) => name.endsWith('.md') && !name.includes('node_modules/'));

describe('documents', () => {
  it('README.md and docs are packaged, and every link in them leads to a file and a heading of the package', () => {
    const names = documents();
    expect(names).toEqual(
      expect.arrayContaining(['README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/types.md', 'examples/README.md']),
    );
    const broken: string[] = [];
    let seen = 0;
    for (const name of names) {
      const text = prose(textOf(name));
      for (const [, target] of text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]: +(\S+)/gm)) {
        if (target === undefined || /^(https?|mailto):/.test(target)) continue;
        seen++;
        const [place, anchor] = target.split('#') as [string, string?];
        const file = place === '' ? name : path.posix.join(path.posix.dirname(name), decodeURIComponent(place));
        const found =
          !file.startsWith('..') && fs.statSync(path.join(installed, file), { throwIfNoEntry: false })?.isFile();
        if (!found) broken.push(`${name}: ${target}`);
        else if (anchor !== undefined && !anchorsOf(textOf(file)).has(anchor))
          broken.push(`${name}: ${target}, which has no such heading`);
      }
    }
    expect(broken).toEqual([]);
    expect(seen).toBeGreaterThan(80);
  });

  it("do not contain the repository's address: only package.json has it, in three forms", () => {
    const { repository, homepage, bugs } = JSON.parse(textOf('package.json'));
    const address = /^git\+(https:\/\/[^/]+\/[^/]+\/[^/]+)\.git$/.exec(repository.url)?.[1];
    expect({ repository, homepage, bugs }).toEqual({
      repository: { type: 'git', url: `git+${address}.git` },
      homepage: `${address}#readme`,
      bugs: { url: `${address}/issues` },
    });
    expect(documents().filter((name) => textOf(name).includes(address!))).toEqual([]);
  });
});

/** Each line of the list: the program, and the packages that it says it needs. */
function listed(): { file: string; needs: string[] }[] {
  const rows = [...textOf('examples/README.md').matchAll(/^\| \[[^\]]+\]\(([^)]+)\) \| (.*)$/gm)];
  return rows.map(([, file, words]) => ({
    file: `examples/${file}`,
    needs: /`npm install ([\w -]+)`/.exec(words!)?.[1]?.split(' ') ?? [],
  }));
}

/** What each is given so that it ends soon; nothing else differs from what the list says. */
const shorter: Record<string, string[]> = { 'convnet.js': ['--steps', '5'], 'batches.js': ['--limit', '64'] };

const start = (file: string) =>
  command(process.execPath, [path.join('node_modules/libtorch-node', file), ...(shorter[path.basename(file)] ?? [])]);

describe('examples', () => {
  it('are packaged as TypeScript to read and as JavaScript to run', () => {
    const sources = files().filter((name) => /^examples\/.*\.ts$/.test(name));
    const programs = files().filter((name) => /^examples\/.*\.js$/.test(name));
    // Clients, and what starts them: nothing that the package runs opens a connection (package.test.ts).
    const left = ['audit', 'demo', 'load'].map((name) => `examples/digits/${name}.js`);
    const wanted = sources.map((name) => name.replace(/ts$/, 'js')).filter((name) => !left.includes(name));
    expect(programs.sort()).toEqual(wanted.sort());
    expect(programs.length).toBeGreaterThan(30);
    expect(programs.filter((name) => /sourceMappingURL|\bdist\/examples\b/.test(textOf(name)))).toEqual([]);
  });

  it('without other packages run in the project that installed the package', async () => {
    const programs = listed().filter(({ file, needs }) => file.endsWith('.ts') && needs.length === 0);
    expect(programs.length).toBeGreaterThanOrEqual(9);
    for (const { file } of programs) {
      const name = file.replace(/ts$/, 'js');
      const { code, stdout, stderr } = await start(name);
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
      expect(stdout.trim()).not.toBe('');
    }
  });

  it('that need another package name it, and run once it is installed', async () => {
    const programs = listed().filter(({ needs }) => needs.length > 0);
    const own = Object.keys(JSON.parse(textOf('package.json')).devDependencies);
    expect(programs.flatMap(({ needs }) => needs).filter((name) => !own.includes(name))).toEqual([]);
    const single = programs.filter(({ file }) => file.endsWith('.ts'));
    expect(single.length).toBeGreaterThanOrEqual(3);
    for (const { file, needs } of single) {
      const name = file.replace(/ts$/, 'js');
      const refused = await start(name);
      expect({ name, code: refused.code }).toEqual({ name, code: 1 });
      expect(refused.stderr).toContain(`Cannot find module '${needs[0]}'`);
    }
    for (const name of new Set(programs.flatMap(({ needs }) => needs)))
      fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(project, 'node_modules', name));
    for (const { file } of single) {
      const name = file.replace(/ts$/, 'js');
      const { code, stdout, stderr } = await start(name);
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
      expect(stdout.trim()).not.toBe('');
    }
    // The services, as far as they go without an end of their own.
    const service = await start('examples/service/main.js');
    expect(`${service.stdout}${service.stderr}`).toMatch(/--model/);
    const server = await start('examples/digits/server.js');
    expect(server.stderr).toMatch(/^usage: /);
  });
});
