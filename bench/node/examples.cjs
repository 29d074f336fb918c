/** The models of examples/language and examples/images from Node. See bench/cpp/ops.cpp for the protocol. */
'use strict';

const torch = require('libtorch-node');
const { tokens } = require('../../examples/language/generate.js');
const { makeModel } = require('../../examples/language/model.js');
const { ResNet } = require('../../examples/images/resnet.js');
const { serve } = require('./serve.cjs');

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));

/** The sizes are those of bench/python/examples.py. */
const TOKENS = 100;
const BATCH = 64;
const PROMPT = [1, 2, 3, 4, 5, 6, 7, 8];
const gpt2 = { vocab_size: 512, n_positions: 256, n_embd: 64, n_layer: 2, n_head: 4, layer_norm_epsilon: 1e-5 };
const llama = {
  vocab_size: 512,
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

/** Greedy tokens with a cache, one after the other. */
function decoding(config) {
  const model = makeModel(config);
  model.eval();
  return {
    count: TOKENS,
    loop() {
      let count = 0;
      for (const _ of tokens(model, PROMPT, { maxTokens: TOKENS })) count++;
      if (count !== TOKENS) throw new Error(`${count} tokens`);
    },
  };
}

/** Steps of training on one batch. */
function training() {
  const net = new ResNet(10);
  const optimizer = new torch.optim.AdamW(net.parameters(), { lr: 0.005 });
  const pictures = torch.rand([BATCH, 1, 28, 28]);
  const labels = torch.randint(0, 10, [BATCH]);
  return {
    count: BATCH,
    loop: () =>
      torch.scope(() => {
        optimizer.zeroGrad();
        torch.nn.functional.crossEntropy(net.forward(pictures), labels).backward();
        optimizer.step();
      }),
  };
}

const loops = {
  gpt2: decoding({ model_type: 'gpt2', ...gpt2 }),
  llama: decoding({ model_type: 'llama', ...llama }),
  resnet: training(),
};

serve((op) => loops[op]);
