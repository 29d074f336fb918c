/** torch.save and torch.load: `files.cjs BYTES`. See bench/cpp/serve.h for the protocol. */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));

const COUNT = 64;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-files-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true }));
const file = path.join(folder, 'state.pt');
const elements = Math.floor(Number(process.argv[2]) / 4 / COUNT);
const state = Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`weight${i}`, torch.full([elements], i)]));

const save = () => torch.save(state, file);
const loops = { save, synced: save, load: () => torch.scope(() => void torch.load(file)) };

save();
serve((name) => ({ loop: loops[name], count: 1 }));
