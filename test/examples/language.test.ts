/** examples/language: its decoders against PyTorch, its memory, its adapters, its tokenizer and its sampling. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Tensor } from 'libtorch-node';
import { KvCache } from '../../examples/language/attention';
import { type Decoder, stream, tokens } from '../../examples/language/generate';
import type { Gpt2Config } from '../../examples/language/gpt2';
import type { LlamaConfig } from '../../examples/language/llama';
import { Adapter } from '../../examples/language/lora';
import { type Config, makeModel, openModel } from '../../examples/language/model';
import { sampler } from '../../examples/language/sampling';
import { learnTokenizer, openTokenizer, reader } from '../../examples/language/tokenizer';
import { python3 } from '../support/python3';
import { balancedAsync, counts, ROOT, settled, torch } from '../support/torch';

jest.setTimeout(120_000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'language-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const POSITIONS = 256;
const gpt2: Gpt2Config = {
  model_type: 'gpt2',
  vocab_size: 97,
  n_positions: POSITIONS,
  n_embd: 48,
  n_layer: 2,
  n_head: 4,
  layer_norm_epsilon: 1e-5,
};
const llama: LlamaConfig = {
  model_type: 'llama',
  vocab_size: 97,
  max_position_embeddings: POSITIONS,
  hidden_size: 64,
  intermediate_size: 112,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  tie_word_embeddings: false,
};
const kinds: [name: string, config: Config][] = [
  ['GPT-2', gpt2],
  ['Llama', llama],
];
const all: typeof kinds = [...kinds, ['Llama with a tied embedding', { ...llama, tie_word_embeddings: true }]];

const models: Decoder[] = [];
afterAll(() => torch.disposeAll(models));

/** A model whose weights are large enough that its scores differ. */
function made(config: Config): Decoder & { stateDict(): Record<string, Tensor> } {
  torch.manualSeed(3);
  const model = makeModel(config);
  models.push(model);
  torch.scope(() =>
    torch.noGrad(() => {
      for (const weight of model.parameters()) weight.add_(torch.randn(weight.shape).mul(0.1));
    }),
  );
  return model.eval() as never;
}

const PROMPT = [5, 17, 3, 88, 41, 2, 60];
const idsOf = (ids: readonly number[]) => torch.tensor([[...ids]], { dtype: 'int64' });

test.each(all)('%s has the logits of PyTorch, and greedily says the same 200 tokens', async (name, config) => {
  const model = made(config);
  const [asked, answered] = [path.join(folder, `${name}.pt`), path.join(folder, `${name}-answer.pt`)];
  torch.save({ config, weights: model.stateDict(), ids: torch.tensor(PROMPT), tokens: 200 } as never, asked);
  const python = path.join(ROOT, 'test/examples/decoders.py');
  const { code, stderr } = await python3([python, asked, answered]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const answer = torch.load(answered) as { logits: Tensor; tokens: Tensor };
  const logits = torch.noGrad(() => model.forward(idsOf(PROMPT)));
  expect(logits.at(0).sub(answer.logits).abs().max().item()).toBeLessThan(1e-5);
  expect(answer.logits.std().item()).toBeGreaterThan(0.1); // not all alike
  expect([...tokens(model, PROMPT, { maxTokens: 200 })]).toEqual(answer.tokens.toArray());
});

describe.each(kinds)('%s', (name, config) => {
  const model = made(config);
  const scoresOf = (ids = PROMPT) => torch.noGrad(() => model.forward(idsOf(ids)));

  test('has the same logits when its tokens are read in pieces', () => {
    const whole = scoresOf();
    const cache = new KvCache(model.cacheSizes, PROMPT.length);
    const pieces = [PROMPT.slice(0, 3), PROMPT.slice(3, 4), PROMPT.slice(4)];
    const scores = torch.noGrad(() =>
      torch.cat(
        pieces.map((ids) => model.forward(idsOf(ids), cache)),
        1,
      ),
    );
    cache.dispose();
    expect(scores.sub(whole).abs().max().item()).toBeLessThan(1e-5);
  });

  test('shows the bytes of its cache exactly, and frees them however the loop ends', async () => {
    const { layers, heads, headSize } = model.cacheSizes;
    const before = settled();
    let during = 0;
    for (const _ of tokens(model, PROMPT, { maxTokens: 50 })) {
      during = counts().bytes - before.bytes;
      break;
    }
    expect(during).toBe(2 * layers * heads * headSize * (PROMPT.length + 49) * Float32Array.BYTES_PER_ELEMENT);
    expect(counts()).toEqual(before);
    expect(() => {
      for (const _ of tokens(model, PROMPT, { maxTokens: 50 })) throw new Error('from the loop');
    }).toThrow('from the loop');
    expect(counts()).toEqual(before);
    expect([...tokens(model, PROMPT, { maxTokens: 10_000 })]).toHaveLength(POSITIONS - PROMPT.length + 1);
    expect(counts()).toEqual(before);
  });

  test('leaves the same logits, to the bit, when an adapter was on it', () => {
    const target_modules = config.model_type === 'gpt2' ? ['c_attn', 'c_fc'] : ['q_proj', 'down_proj'];
    const make = () => new Adapter(model, { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules });
    const [first, second] = [make(), make()];
    const before = scoresOf();
    expect(first.use(() => scoresOf()).equal(before)).toBe(true); // B is zero at first
    torch.noGrad(() => {
      for (const adapter of [first, second])
        for (const weight of adapter.parameters()) weight.add_(torch.randn(weight.shape).mul(0.1));
    });
    const one = first.use(() => scoresOf());
    expect(one.sub(before).abs().max().item()).toBeGreaterThan(1e-3);
    expect(second.use(() => scoresOf()).equal(one)).toBe(false);
    expect(() => first.use(() => model.forward(idsOf([10_000])))).toThrow(/index/);
    expect(scoresOf().equal(before)).toBe(true);

    const at = path.join(folder, `${name}-adapter`);
    first.save(at);
    const saved = torch.safetensors.load(path.join(at, 'adapter_model.safetensors'));
    const layer = config.model_type === 'gpt2' ? 'h.0.attn.c_attn' : 'model.layers.0.self_attn.q_proj';
    expect(saved).toHaveProperty([`base_model.model.${layer}.lora_A.weight`]);
    const loaded = Adapter.load(model, at);
    expect(loaded.use(() => scoresOf()).equal(one)).toBe(true);
    // The same in the weights themselves, W + scale × B A, gives the same up to rounding.
    const merged = made(config);
    const weights = merged.stateDict();
    torch.noGrad(() => {
      for (const key of Object.keys(saved).filter((each) => each.includes('lora_A'))) {
        const difference = saved[key.replace('lora_A', 'lora_B')]!.matmul(saved[key]!).mul(8 / 4);
        const weight = weights[key.slice('base_model.model.'.length).replace('lora_A.', '')]!;
        weight.add_(config.model_type === 'gpt2' ? difference.t() : difference);
      }
    });
    const scores = torch.noGrad(() => merged.forward(idsOf(PROMPT)));
    expect(scores.sub(one).abs().max().item()).toBeLessThan(1e-5);
    expect(() => Adapter.load(made({ ...gpt2, n_layer: 1 }), at)).toThrow(
      /expected (an adapter of this|linear layers)/,
    );
  });

  test('500 aborted generations leave nothing behind', async () => {
    let aborted = 0;
    const generation = async (round: number) => {
      const stop = new AbortController();
      try {
        let count = 0;
        for await (const _ of stream(model, PROMPT, { maxTokens: 100 }, stop.signal)) {
          if (++count < 1 + (round % 3)) continue;
          if (round % 4 === 0) break;
          if (round % 4 === 1) stop.abort();
          if (round % 4 === 2) setImmediate(() => stop.abort()); // in the middle of a step
          if (round % 4 === 3) throw new DOMException('by the loop', 'AbortError');
        }
        aborted++;
      } catch (error) {
        expect((error as Error).name).toBe('AbortError');
        aborted++;
      }
    };
    await balancedAsync(async () => {
      for (let round = 0; round < 500; round += 10)
        await Promise.all(Array.from({ length: 10 }, (_, i) => generation(round + i)));
    });
    expect(aborted).toBe(500);
  });
});

test('a file of Hugging Face with a prefix, masks and the embedding twice is read', () => {
  const model = made(gpt2);
  const prefixed = Object.entries(model.stateDict()).map(([key, weight]) => [`transformer.${key}`, weight] as const);
  const extra = {
    'transformer.h.0.attn.bias': torch.ones([1, 1, 4, 4]),
    'lm_head.weight': model.stateDict()['wte.weight']!.clone(),
  };
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify(gpt2));
  torch.safetensors.save({ ...Object.fromEntries(prefixed), ...extra }, path.join(folder, 'model.safetensors'));
  const opened = openModel(folder);
  const scores = torch.noGrad(() => [model, opened].map((each) => each.forward(idsOf(PROMPT))));
  expect(scores[0]!.equal(scores[1]!)).toBe(true);
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ ...llama, model_type: 'bert' }));
  expect(() => openModel(folder)).toThrow('expected "gpt2" or "llama", got "bert"');
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify(llama));
  expect(() => openModel(folder)).toThrow(/model\.embed_tokens\.weight/);
});

describe('sampling', () => {
  const scores = () => torch.tensor([0.1, 3, 2.5, -1, 2, 0]);
  const drawn = (options: Parameters<typeof sampler>[0], count = 300) => {
    const choose = sampler(options);
    return Array.from({ length: count }, () => torch.scope(() => choose(scores())));
  };
  const distinct = (options: Parameters<typeof sampler>[0]) => [...new Set(drawn(options))].sort((a, b) => a - b);

  test('top-k and top-p leave out what they should', () => {
    expect(distinct({})).toEqual([1]);
    expect(distinct({ temperature: 1, topK: 1, seed: 1 })).toEqual([1]);
    expect(distinct({ temperature: 1, topK: 3, seed: 1 })).toEqual([1, 2, 4]);
    expect(distinct({ temperature: 1, topP: 0.01, seed: 1 })).toEqual([1]);
    // The probabilities are .46, .28, .17, .03, .02, .01.
    expect(distinct({ temperature: 1, topP: 0.6, seed: 1 })).toEqual([1, 2]);
    expect(distinct({ temperature: 100, seed: 1 })).toEqual([0, 1, 2, 3, 4, 5]);
    expect(distinct({ temperature: 0.01, seed: 1 })).toEqual([1]);
  });

  test('draws by the probabilities, and the same with the same seed', () => {
    const options = { temperature: 1, seed: 4 };
    const many = drawn(options, 3000);
    expect(many.filter((token) => token === 1).length / 3000).toBeCloseTo(
      scores().softmax(0).at(1).item() as number,
      1,
    );
    expect(drawn(options)).toEqual(many.slice(0, 300));
    expect(drawn({ ...options, seed: 5 })).not.toEqual(many.slice(0, 300));
    expect(drawn({ temperature: 1 })).not.toEqual(drawn({ temperature: 1 }));
  });

  test('refuses options outside their range', () => {
    for (const wrong of [{ temperature: -1 }, { temperature: Number.NaN }, { topK: 0 }, { topP: 0 }, { seed: 0.5 }]) {
      expect(() => sampler(wrong)).toThrow(new RegExp(`^${Object.keys(wrong)[0]}: expected .*, got `));
    }
    const model = made(gpt2);
    expect(() => [...tokens(model, [], { maxTokens: 5 })]).toThrow('prompt: expected from 1 to 255 tokens, got 0');
    expect(() => [...tokens(model, PROMPT, { maxTokens: 0 })]).toThrow('maxTokens: expected at least 1, got 0');
  });
});

test('the tokenizer gives every text back, also piece by piece, in fewer tokens than bytes', () => {
  const text = fs.readFileSync(path.join(ROOT, 'examples/language/alice.txt'), 'utf8');
  const file = path.join(folder, 'tokenizer.json');
  fs.writeFileSync(file, JSON.stringify(learnTokenizer(text, 400)));
  const tokenizer = openTokenizer(file);
  for (const sample of [text, 'Straße, 日本語, 🦙🏽 and\ttabs\n\n  spaces ', "it's 42"]) {
    const ids = tokenizer.encode(sample);
    expect(tokenizer.decode(ids)).toBe(sample);
    expect(ids.map(reader(tokenizer)).join('')).toBe(sample);
  }
  expect(tokenizer.encode(text).length).toBeLessThan(0.6 * text.length);
  expect(tokenizer.encode(' Alice')).toHaveLength(1);
  const alone = tokenizer.encode('🦙');
  expect(alone.map(reader(tokenizer))).toEqual(['', '', '', '🦙']);
});

test('a file that is not a tokenizer is refused by name', () => {
  const file = path.join(folder, 'broken.json');
  for (const [text, message] of [
    ['{"model": ', 'expected JSON, got another text: '],
    ['<html>', 'expected JSON, got another text: '],
    ['null', 'expected a tokenizer with a type of model, got null'],
    ['{"a": 1}', 'expected a tokenizer with a type of model, got {"a":1}'],
  ] as const) {
    fs.writeFileSync(file, text);
    expect(() => openTokenizer(file)).toThrow(`${file}: ${message}`);
  }
});

test('each decoder has at most 150 lines', () => {
  for (const name of ['gpt2.ts', 'llama.ts']) {
    const lines = fs
      .readFileSync(path.join(ROOT, 'examples/language', name), 'utf8')
      .trimEnd()
      .split('\n');
    expect(lines.length).toBeLessThanOrEqual(150);
  }
});
