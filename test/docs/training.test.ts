/** The two programs of "A whole run" in docs/training.md: PyTorch's and ours print the same losses. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { LIB, ROOT } from '../support/torch';

const section = fs.readFileSync(path.join(ROOT, 'docs/training.md'), 'utf8').split('## A whole run')[1]!;
const block = (kind: string) => new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(section)![1]!;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'whole-run-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** The printed lines, of a program in a folder of its own, where it writes its checkpoint. */
async function lines(command: string, name: string, text: string): Promise<string[]> {
  const file = path.join(fs.mkdtempSync(path.join(folder, 'run-')), name);
  fs.writeFileSync(file, text);
  const cd = `cd "$(dirname "$1")" && exec "$0" "$1"`;
  const { code, stdout, stderr } = await run('/bin/sh', ['-c', cd, command, file], { env: ordinaryEnv() });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(fs.existsSync(path.join(path.dirname(file), 'run.pt'))).toBe(true);
  return stdout.trimEnd().split('\n');
}

test('both print the same losses', async () => {
  const ours = `torch.setNumThreads(1);
torch.manualSeed(7);
const [x, xv] = [torch.randn([150, 1, 28, 28]), torch.randn([50, 1, 28, 28])];
const [y, yv] = [torch.randint(10, [150]), torch.randint(10, [50])];
`;
  const theirs = `import torch
torch.set_num_threads(1)
torch.manual_seed(7)
x, xv = torch.randn([150, 1, 28, 28]), torch.randn([50, 1, 28, 28])
y, yv = torch.randint(10, [150]), torch.randint(10, [50])
`;
  const library = JSON.stringify(path.join(LIB, 'index.mjs'));
  const program = ours + block('js').replace("'libtorch-node'", library);
  const here = await lines(process.execPath, 'run.mjs', program);
  expect(here).toHaveLength(10);
  expect(here).toEqual(await lines('/usr/bin/python3', 'run.py', theirs + block('python')));
});
