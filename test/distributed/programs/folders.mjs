/** `node folders.mjs folder`: a file to meet in that is a folder, and one whose folder does not exist. Prints 'done'. */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [folder] = process.argv.slice(2);
const join = (path) => d.initProcessGroup({ initMethod: `file://${path}`, rank: 0, worldSize: 1, timeoutMs: 100 });
await assert.rejects(join(folder), { code: 'ERR_TORCH_DISTRIBUTED', message: /is not a file/ });
await assert.rejects(join(`${folder}/none/store`), {
  code: 'ERR_TORCH_DISTRIBUTED',
  message: new RegExp(`${folder}/none/store cannot be made: its folder does not exist`),
});
await join(`${folder}/store`);
await d.destroyProcessGroup();
console.log('done');
