/** The data loader: from Node and from PyTorch, each figure by a process of its own, in turn. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';

export const PREFETCH = 64e6;
export const ROWS = 20_000;
export const RESUMED = 1_000_000;
/** Of how many pictures one is a photograph. */
export const PHOTOGRAPHS = 4;

/** Sizes of JPEG files: those of a usual data set, and photographs, which libvips makes smaller while it decodes. */
const SIZES = { pictures: [500, 375], photographs: [1024, 768] };

/** Pictures in two folders, as JPEG. */
async function makePictures(folder, count, [width, height]) {
  for (let i = 0; i < count; i++) {
    const pixels = new Uint8Array(width * height * 3);
    for (let k = 0; k < pixels.length; k++)
      pixels[k] = (k * (i % 7) + ((k >> 5) & 63) + ((k * 2654435761) >>> 28)) & 255;
    const name = path.join(folder, i % 2 === 0 ? 'even' : 'odd');
    mkdirSync(name, { recursive: true });
    await sharp(pixels, { raw: { width, height, channels: 3 } })
      .jpeg({ quality: 85 })
      .toFile(path.join(name, `${i}.jpg`));
  }
}

/** @param {import('../plan.mjs').Plan} plan @param {string | undefined} python */
export async function measureData({ dataRounds, pictures, rows = ROWS, resumed = RESUMED, delaySteps }, python) {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-data-'));
  const [small, large] = Object.keys(SIZES).map((name) => path.join(folder, name));
  const node = [process.execPath, inRoot('bench', 'node', 'data.cjs')];
  const torch = python === undefined ? null : [python, inRoot('bench', 'python', 'data.py')];
  const questions = {
    epoch: [node, 'epoch', rows, 20],
    'pictures 1': [node, 'images', 1, small],
    'pictures 2': [node, 'images', 2, small],
    'single pictures 1': [node, 'images', 1, 1, small],
    'single pictures 2': [node, 'images', 2, 1, small],
    'photographs 2': [node, 'images', 2, large],
    prefetch: [node, 'prefetch', PREFETCH],
    delay: [node, 'delay', delaySteps],
    resume: [node, 'resume', resumed],
    ...(torch === null
      ? {}
      : {
          'python epoch': [torch, 'epoch', rows, 5],
          'python pictures 1': [torch, 'images', 1, small],
          'python pictures 2': [torch, 'images', 2, small],
          'python photographs 2': [torch, 'images', 2, large],
        }),
  };
  /** @type {Record<string, any[]>} */
  const answers = Object.fromEntries(Object.keys(questions).map((name) => [name, []]));
  try {
    await step(`${pictures} pictures`, async () => {
      await makePictures(small, pictures, SIZES.pictures);
      await makePictures(large, Math.ceil(pictures / PHOTOGRAPHS), SIZES.photographs);
    });
    await step('data loader', async () => {
      for (let round = 0; round < dataRounds; round++) {
        for (const [name, [program, ...args]] of Object.entries(questions)) {
          answers[name].push(await jsonOf([...program, ...args.map(String)], { seconds: 300 }));
        }
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return answers;
}
