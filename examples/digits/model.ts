/** A perceptron with one hidden layer, and its weights as a plain file of floats. */
import * as fs from 'node:fs';
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import { CLASSES, PIXELS } from './data';

const HIDDEN = 128;
const SHAPES = [[PIXELS, HIDDEN], [HIDDEN], [HIDDEN, CLASSES], [CLASSES]] as const;

export class Model {
  private constructor(readonly parameters: Tensor[]) {}

  /** Random weights (He initialisation), which follow torch.manualSeed. */
  static random(): Model {
    const parameters = SHAPES.map((shape) =>
      shape.length === 1 ? torch.zeros([...shape]) : torch.randn([...shape]).mul_(Math.sqrt(2 / shape[0])),
    );
    for (const parameter of parameters) parameter.requiresGrad = true;
    return new Model(parameters);
  }

  /** Reads the weights that save() wrote, for inference only. */
  static load(file: string): Model {
    const bytes = fs.readFileSync(file);
    const wanted = SHAPES.reduce((sum, shape) => sum + sizeOf(shape), 0) * Float32Array.BYTES_PER_ELEMENT;
    if (bytes.length !== wanted) throw new Error(`${file}: expected ${wanted} bytes of weights, got ${bytes.length}`);
    const floats = new Float32Array(Uint8Array.from(bytes).buffer);
    let offset = 0;
    return new Model(
      SHAPES.map((shape) => {
        const values = floats.subarray(offset, offset + sizeOf(shape));
        offset += values.length;
        return torch.tensor(values).reshape([...shape]);
      }),
    );
  }

  save(file: string): void {
    const floats = this.parameters.map((parameter) => parameter.detach().toTypedArray() as Float32Array);
    fs.writeFileSync(file, Buffer.concat(floats.map(bytesOf)));
  }

  /** Images, one or a batch of rows, to one score per class (logits). */
  forward(images: Tensor): Tensor {
    const [w1, b1, w2, b2] = this.parameters as [Tensor, Tensor, Tensor, Tensor];
    return images.matmul(w1).add(b1).relu().matmul(w2).add(b2);
  }
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

const bytesOf = (floats: Float32Array) => Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength);
