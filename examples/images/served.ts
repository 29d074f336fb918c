/** What the service needs of the ResNet: `node ../service/main.js --model resnet.safetensors --loader served.js`. */
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import { ModelRefused } from '../service/failures';
import { CLASSES, type Model, type ModelFile, tryOut } from '../service/model';
import { ResNet } from './resnet';

/** @throws ModelRefused for a file without the net's tensors */
export async function loadModel({ bytes, version }: ModelFile): Promise<Model> {
  const net = new ResNet(CLASSES);
  net.eval();
  const model: Model = {
    version,
    // Recorded, and run on a thread of torch's pool.
    forward: (images) => torch.run(() => torch.noGrad(() => net.forward(images).softmax(1) as Tensor)),
    dispose: () => net.dispose(),
  };
  try {
    torch.scope(() => {
      net.loadStateDict(torch.safetensors.load(bytes));
    });
    await tryOut(model);
    return model;
  } catch (error) {
    net.dispose();
    throw error instanceof ModelRefused ? error : new ModelRefused((error as Error).message.replace(/\s+/g, ' '));
  }
}
