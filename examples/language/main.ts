/**
 * Trains a small language model on a text, lets it speak, and serves it. See README.md.
 * `node main.js [--folder DIR] [--steps N] [--adapter-steps N] [--port N]`
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import torch from 'libtorch-node';
import { KvCache } from './attention';
import { tokens } from './generate';
import { Adapter } from './lora';
import { type Config, type Model, makeModel, openModel, saveModel, saveTokenizer } from './model';
import { createServer } from './server';
import { learnTokenizer, openTokenizer, reader } from './tokenizer';
import { train } from './train';

const TEXT = readFileSync(path.join(sources(), 'alice.txt'), 'utf8');
const VERSE = readFileSync(path.join(sources(), 'jabberwocky.txt'), 'utf8');
const VOCABULARY = 512;

const config: Config = {
  model_type: 'llama',
  vocab_size: VOCABULARY,
  max_position_embeddings: 256,
  hidden_size: 64,
  intermediate_size: 172,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  tie_word_embeddings: false,
};
const TARGETS = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj', 'lm_head'];

/** The folder of the texts: that of the sources. A checkout has the compiled programs in dist/ too. */
function sources(): string {
  return existsSync(path.join(__dirname, 'alice.txt')) ? __dirname : path.join(__dirname, '../../../examples/language');
}

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'language-model' },
    steps: { type: 'string', default: '200' },
    'adapter-steps': { type: 'string', default: '60' },
    port: { type: 'string' },
  },
});

/** Trains and saves the model and its adapter. */
function make(folder: string): void {
  torch.manualSeed(1);
  const log = (name: string) => (step: number, loss: number) => {
    if (step === 1 || step % 50 === 0) console.log(`${name}, step ${step}: loss ${loss.toFixed(3)}`);
  };
  const tokenizer = learnTokenizer(TEXT + VERSE, VOCABULARY);
  using model = makeModel(config);
  saveTokenizer(tokenizer, folder);
  const { encode } = openTokenizer(path.join(folder, 'tokenizer.json'));
  const rate = 0.01;
  const options = { steps: Number(values.steps), rate, onStep: log('alice') };
  train((ids) => model.forward(ids), model.parameters(), encode(TEXT), options);

  using adapter = new Adapter(model, { peft_type: 'LORA', r: 16, lora_alpha: 32, target_modules: TARGETS });
  model.requiresGrad_(false);
  const more = { steps: Number(values['adapter-steps']), rate, onStep: log('verse') };
  train((ids) => adapter.use(() => model.forward(ids)), adapter.parameters(), encode(VERSE), more);
  adapter.save(path.join(folder, 'verse'));
  saveModel(model, folder);
}

/** The adapters in a model's folder, each in a folder of its own. */
function openAdapters(model: Model, folder: string): Map<string, Adapter> {
  const names = readdirSync(folder).filter((name) => existsSync(path.join(folder, name, 'adapter_config.json')));
  return new Map(names.map((name) => [name, Adapter.load(model, path.join(folder, name))]));
}

async function main(): Promise<void> {
  torch.setNumThreads(1); // the products are too small for more
  const { folder } = values;
  if (!existsSync(path.join(folder, 'config.json'))) make(folder);
  const model = openModel(folder);
  const tokenizer = openTokenizer(path.join(folder, 'tokenizer.json'));
  const adapters = openAdapters(model, folder);

  const say = (prompt: string, wish: Parameters<typeof tokens>[2]) => {
    const read = reader(tokenizer);
    let text = '';
    for (const token of tokens(model, tokenizer.encode(prompt), wish)) text += read(token);
    return `${prompt}${text}`;
  };
  console.log(`\n--- the model:\n${say('Alice was beginning', { maxTokens: 100 })}`);
  for (const [name, adapter] of adapters)
    console.log(`\n--- with the adapter ${name}:\n${say("'Twas", { maxTokens: 100, adapter })}`);
  const sampled = { maxTokens: 60, temperature: 0.8, topK: 40, topP: 0.9, seed: 1 };
  console.log(`\n--- without an adapter, drawn with seed 1:\n${say('The Rabbit', sampled)}\n`);

  const before = torch.memory().bytes;
  const cache = new KvCache(model.cacheSizes, model.cacheSizes.positions);
  console.log(`a full cache: ${torch.memory().bytes - before} bytes`);
  cache.dispose();
  console.log(`after its end: ${torch.memory().bytes - before} bytes`);

  if (values.port === undefined) return;
  const app = createServer({ model, tokenizer, adapters });
  process.once('SIGTERM', () => void app.close()).once('SIGINT', () => void app.close());
  await app.listen({ host: '127.0.0.1', port: Number(values.port) });
  console.log(`listening on http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
