/**
 * Chooses between the model as it was scripted and `torch.jit.optimizeForInference` of it, and between a thread of torch's pool and
 * the event loop, by measuring: what is faster depends on the model, the machine and the size of a batch.
 */
import { performance } from 'node:perf_hooks';
import * as torch from 'libtorch-node';
import { SIDE } from './input';

/** The sizes of batches that are measured. */
const SIZES = [1, 8, 32];
const ROUNDS = 15;
/** A slow model is measured in fewer rounds. */
const MAX_MS = 1000;
const BORDER = 4;
/** The optimised model is taken from a size on if it is faster by more than this there, and at each larger size. */
const GAIN = 1.1;
/** How far its outputs, probabilities, may be from those of the scripted model: they round differently. */
const TOLERANCE = 1e-4;
/** The event loop takes as long to read and answer the requests of such a batch, so they hardly wait longer. */
const MAX_MS_ON_LOOP = 2;

export interface Choice {
  /** Undefined if the scripted model is used for every batch. */
  optimised: torch.ScriptModule | undefined;
  /** Batches of this many images or more go to the optimised model. */
  from: number;
  /** Batches of up to so many images run on the event loop. */
  onLoop: number;
  /** For the log. */
  why: string;
}

/** Off the event loop, as batches are. */
function infer(model: torch.ScriptModule, images: torch.Tensor): Promise<torch.Tensor> {
  let result: Promise<torch.Tensor>;
  torch.inferenceMode(() => {
    result = model.async.forward(images);
  });
  return result!;
}

/** The largest difference of any output, over images of noise; NaN if an output is not a number. */
const difference = (a: torch.ScriptModule, b: torch.ScriptModule, images: torch.Tensor): Promise<number> =>
  torch.scope(async () => {
    const outputs = [await infer(a, images), await infer(b, images)] as const;
    return torch.inferenceMode(() => outputs[0].sub(outputs[1]).abs().max().item() as number);
  });

/** Milliseconds of a call of each model. */
export type Measure = (
  models: readonly torch.ScriptModule[],
  images: torch.Tensor,
) => readonly number[] | Promise<readonly number[]>;

/** The least of several calls, the models in turn. As between two batches, other work takes the processor's caches before each. */
const measured: Measure = async (models, images) => {
  const least = models.map(() => Number.POSITIVE_INFINITY);
  const other = new Float64Array(2 ** 20);
  const end = performance.now() + MAX_MS;
  for (let round = 0; round < ROUNDS && (round === 0 || performance.now() < end); round++) {
    for (const [i, model] of models.entries()) {
      other.fill(round);
      const start = performance.now();
      await torch.scope(async () => void (await infer(model, images)));
      least[i] = Math.min(least[i]!, performance.now() - start);
    }
  }
  return least;
};

/** Images of noise with an empty border, as digits have; the same in each process, without changing its random numbers. */
function noise(size: number): torch.Tensor {
  const generator = new torch.Generator();
  try {
    generator.manualSeed(size);
    const inner = torch.rand([size, 1, SIDE - 2 * BORDER, SIDE - 2 * BORDER], { generator });
    return torch.nn.functional.pad(inner, [BORDER, BORDER, BORDER, BORDER]);
  } finally {
    generator.dispose();
  }
}

/**
 * Measures at load, while the model before it goes on answering. The scripted model stays the caller's; the optimised one becomes the
 * caller's.
 */
export async function choose(
  scripted: torch.ScriptModule,
  { measure = measured, offLoop = false } = {},
): Promise<Choice> {
  const form = await chooseForm(scripted, measure);
  const inPool = { ...form, onLoop: 0 };
  if (offLoop) return inPool;
  try {
    const size = Math.max(...SIZES);
    const [ms] = await torch.scope(async () => measure([form.optimised ?? scripted], noise(size)));
    if (!(ms! <= MAX_MS_ON_LOOP) || dependsOnImages(scripted)) return inPool;
    return { ...form, onLoop: size, why: `${form.why}, on the event loop (${size} in ${ms!.toFixed(2)} ms)` };
  } catch {
    return inPool; // a model that does not take so many images answers smaller batches
  }
}

/**
 * Whether it has a loop or a branch, which may take longer for other images than for those that were measured. Freezing removes what
 * runs in training alone, such as the loop in which a batch norm checks sizes.
 */
function dependsOnImages(scripted: torch.ScriptModule): boolean {
  let frozen: torch.ScriptModule;
  try {
    frozen = torch.keep(torch.jit.freeze(scripted));
  } catch {
    return true; // not known: some models cannot be frozen
  }
  try {
    return /prim::(Loop|If)\b/.test(frozen.inlinedGraph('forward'));
  } finally {
    frozen.dispose();
  }
}

/** With libtorch 2.6 the second call of an optimised model on a batch of 32 does not return, so from 2.0 on none is tried. */
async function chooseForm(scripted: torch.ScriptModule, measure: Measure): Promise<Omit<Choice, 'onLoop'>> {
  if (!torch.libtorchVersion.startsWith('1.')) {
    const why = `as scripted; with libtorch ${torch.libtorchVersion} an optimised model is not tried`;
    return { optimised: undefined, from: Number.POSITIVE_INFINITY, why };
  }
  let optimised: torch.ScriptModule | undefined;
  try {
    optimised = torch.keep(torch.jit.optimizeForInference(scripted));
    const faster: string[] = [];
    let from = Number.POSITIVE_INFINITY;
    for (const size of [...SIZES].reverse()) {
      const [before, after] = await torch.scope(async () => {
        const images = noise(size);
        // Several calls first: libtorch's executor compiles for a shape in the first ones.
        for (let call = 0; call < 3; call++) {
          const far = await difference(scripted, optimised!, images);
          if (!(far <= TOLERANCE)) throw new Error(`its outputs differ by ${far}, more than ${TOLERANCE}`);
        }
        return measure([scripted, optimised!], images);
      });
      if (before! < after! * GAIN) break;
      faster.unshift(`${size} in ${after!.toFixed(2)} ms instead of ${before!.toFixed(2)}`);
      from = size;
    }
    if (faster.length > 0)
      return { optimised, from, why: `optimised for batches of ${from} or more (${faster.join(', ')})` };
    optimised.dispose();
    return { optimised: undefined, from, why: 'as scripted, because the optimised model is not faster' };
  } catch (error) {
    optimised?.dispose();
    const why = (error as Error).message.split('\n')[0]!;
    return {
      optimised: undefined,
      from: Number.POSITIVE_INFINITY,
      why: `as scripted; the optimised model is refused: ${why}`,
    };
  }
}
