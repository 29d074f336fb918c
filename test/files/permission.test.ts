/** Files under Node's permission model: where the program may write, each format is saved, also over an own file. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { ask } from '../support/child';

const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

test('savers write, and replace what they wrote', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ltn-permission-'));
  try {
    const sums = await ask(
      `
      const at = (name) => ${JSON.stringify(folder)} + '/' + name;
      const a = torch.ones([3]);
      for (let i = 0; i < 2; i++) {
        torch.save({ a }, at('a.pt'));
        torch.safetensors.save({ a }, at('a.safetensors'));
        torch.npy.save(a, at('a.npy'));
        torch.npz.save({ a }, at('a.npz'));
      }
      answer([torch.load(at('a.pt')).a, torch.safetensors.load(at('a.safetensors')).a, torch.npy.load(at('a.npy')),
        torch.npz.load(at('a.npz')).a].map((t) => t.sum().item()));
    `,
      ['--no-warnings', PERMISSION, '--allow-fs-read=*', '--allow-fs-write=*', '--allow-addons'],
    );
    expect(sums).toEqual([3, 3, 3, 3]);
    expect(readdirSync(folder).sort()).toEqual(['a.npy', 'a.npz', 'a.pt', 'a.safetensors']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
