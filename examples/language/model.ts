/** A model's folder: config.json, model.safetensors and tokenizer.json, as Hugging Face has them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import torch, { type Tensor } from 'libtorch-node';
import { Gpt2, type Gpt2Config } from './gpt2';
import { Llama, type LlamaConfig } from './llama';

export type Config = Gpt2Config | LlamaConfig;
export type Model = Gpt2 | Llama;

/** A model with new weights. @throws Error for another kind of model, or positions that are scaled */
export function makeModel(config: Config): Model {
  const { rope_scaling: scaled } = config as { rope_scaling?: unknown };
  // Without it the model would run, and speak nonsense.
  if (scaled != null) throw new Error(`rope_scaling: expected null, got ${JSON.stringify(scaled)}`);
  if (config.model_type === 'gpt2') return new Gpt2(config);
  if (config.model_type === 'llama') return new Llama(config);
  const { model_type } = config as { model_type: unknown };
  throw new Error(`model_type: expected "gpt2" or "llama", got ${JSON.stringify(model_type)}`);
}

/** The tensors of a file by the names that the model has. */
function namesOf(model: Model, weights: Record<string, Tensor>): Record<string, Tensor> {
  if (model instanceof Llama) return weights;
  const entries = Object.entries(weights).map(
    ([name, weight]) => [name.replace(/^transformer\./, ''), weight] as const,
  );
  // Files may also have the masks of the attention, and the embedding a second time.
  return Object.fromEntries(entries.filter(([name]) => !/\.attn\.(masked_)?bias$|^lm_head\.weight$/.test(name)));
}

/** The model in a folder. @throws an error that lists the tensors which are missing, unexpected or of another shape */
export function openModel(folder: string): Model {
  const model = makeModel(JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8')) as Config);
  torch.scope(() => {
    model.loadStateDict(namesOf(model, torch.safetensors.load(path.join(folder, 'model.safetensors'))));
  });
  return model.eval() as Model;
}

export function saveModel(model: Model, folder: string): void {
  mkdirSync(folder, { recursive: true });
  torch.safetensors.save(model.stateDict(), path.join(folder, 'model.safetensors'), { metadata: { format: 'pt' } });
  // The last file: a folder that has it is complete.
  writeFileSync(path.join(folder, 'config.json'), `${JSON.stringify(model.config, null, 2)}\n`);
}

export function saveTokenizer(tokenizer: object, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'tokenizer.json'), `${JSON.stringify(tokenizer)}\n`);
}
