/** Declarations of several versions of libtorch in one file: complete, with remarks on names that not all have. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';
import { folder } from './folder';

interface Source {
  version: string;
  text: string;
}

function merged(sources: Source[]): string {
  const script = `import { mergeDeclarations } from ${JSON.stringify(path.join(ROOT, 'scripts/steps/merge-types.mjs'))};
    import { readFileSync } from 'node:fs';
    process.stdout.write(mergeDeclarations(JSON.parse(readFileSync(0, 'utf8'))));`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    input: JSON.stringify(sources),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
}

const old = `// Generated
import type { A } from './a';
/** The ops. */
export interface Functions {
  /** add */
  add(self: A): A;
  /** gone */
  gone(self: A): A;
  /** add with alpha, as it was */
  add(self: A, alpha: number): A;
}
export interface RawOps {
  readonly aten: {
    add: {
      /** Tensor */
      Tensor: A;
    };
  };
}
export declare const gone: Functions['gone'];
`;
const now = `// Generated
import type { A, B } from './a';
/** The ops. */
export interface Functions {
  /** add */
  add(self: A): A;
  /** fresh */
  fresh(self: B): A;
}
export interface RawOps {
  readonly aten: {
    add: {
      /** Tensor */
      Tensor: B;
      /** Scalar */
      Scalar: A;
    };
  };
}
export declare const fresh: Functions['fresh'];
`;

it('merges names, overloads and nested objects', () => {
  const text = merged([
    { version: '1.13', text: old },
    { version: '2.6', text: now },
  ]);
  const tidy = text.replace(/\s+/g, ' ');
  expect(tidy).toContain("import type { A, B } from './a';");
  expect(tidy).toContain(
    '/** add */ add(self: A): A; /** add with alpha, as it was */ add(self: A, alpha: number): A;',
  );
  expect(tidy).toContain('/** Since libtorch 2.6. fresh */ fresh(self: B): A;');
  expect(tidy).toContain('/** In libtorch 1.13 only. gone */ gone(self: A): A;');
  expect(tidy).toContain('add: { /** Tensor */ Tensor: B; /** Since libtorch 2.6. Scalar */ Scalar: A; };');
  expect(tidy).toContain("/** Since libtorch 2.6. */ export declare const fresh: Functions['fresh'];");
  expect(tidy).toContain("/** In libtorch 1.13 only. */ export declare const gone: Functions['gone'];");
  expect(tidy.match(/add\(self: A\): A/g)).toHaveLength(1);
});

it('does not change a single one, and declarations in both are not marked', async () => {
  const file = path.join(ROOT, 'types/generated/methods.d.ts');
  const text = fs.readFileSync(file, 'utf8');
  expect(merged([{ version: '1.13', text }])).toBe(text);
  const twice = merged([
    { version: '1.13', text },
    { version: '2.6', text },
  ]);
  expect(twice).not.toMatch(/\b(Since|In) libtorch/);
  const signatures = (of: string) =>
    [...new Set(of.split('\n').map((line) => line.trim()))].filter((line) => /^\w+\(/.test(line)).sort();
  expect(signatures(twice)).toEqual(signatures(text));
  // The output is TypeScript.
  const dir = folder();
  fs.writeFileSync(path.join(dir, 'methods.d.ts'), twice);
  const script = `const ts = require('typescript'); const text = require('fs').readFileSync(${JSON.stringify(path.join(dir, 'methods.d.ts'))}, 'utf8');
    console.log(ts.createSourceFile('x.d.ts', text, 99).parseDiagnostics.length);`;
  const parsed = await run('sh', ['-c', 'cd "$0" && exec "$1" -e "$2"', ROOT, process.execPath, script]);
  expect(parsed.stdout).toBe('0\n');
});
