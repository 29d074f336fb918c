// Keys and values by conversation, deleted when the conversation ends.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const conversations = new Map();

steps((i) => {
  conversations.set(i, torch.zeros([4, 16]));
  const ended = i - 25 - (i % 5);
  conversations.get(ended)?.dispose();
  conversations.delete(ended);
  if (i % 5 === 4)
    for (const [id, cache] of conversations) if (id < i - 30) conversations.delete(id) && cache.dispose();
});
