/**
 * Makes a folder of images, trains a ResNet on them, and serves it. See README.md.
 * `node main.js [--folder DIR] [--pictures N] [--epochs N] [--workers N] [--port N]`
 */
import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import torch from 'libtorch-node';
import { serve } from '../service/serve';
import { Images } from './dataset';
import { makeImages, PARTS } from './pictures';
import { train } from './train';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'pictures' },
    pictures: { type: 'string', default: '3000' },
    epochs: { type: 'string', default: '3' },
    workers: { type: 'string', default: '2' },
    port: { type: 'string' },
  },
});

async function main(): Promise<void> {
  const { folder } = values;
  const [training, validation] = PARTS.map((part) => path.join(folder, part)) as [string, string];
  if (!existsSync(validation)) await makeImages(folder, Number(values.pictures));
  const [learned, tested] = [new Images(training), new Images(validation)];
  console.log(`${learned.length} images to learn from, ${tested.length} to test with`);

  torch.manualSeed(1);
  const net = await train(learned, tested, {
    epochs: Number(values.epochs),
    workers: Number(values.workers),
    onEpoch: (epoch, { loss, accuracy, perSecond }) => {
      const percent = (100 * accuracy).toFixed(1);
      const speed = Math.round(perSecond);
      console.log(`epoch ${epoch}: loss ${loss.toFixed(3)}, reads ${percent} %, ${speed} images a second`);
    },
  });
  const model = path.join(folder, 'resnet.safetensors');
  torch.safetensors.save(net.stateDict(), model);
  net.dispose();
  console.log(`saved ${model}`);
  if (values.port === undefined) return;
  await serve(['--model', model, '--loader', path.join(__dirname, 'served.js'), '--port', values.port]);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
