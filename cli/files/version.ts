import * as fs from 'node:fs';
import * as path from 'node:path';

/** This package's version: dist/cli/files is three folders below its package.json. */
export function version(): string {
  const file = path.join(__dirname, '..', '..', '..', 'package.json');
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { version: string }).version;
}
