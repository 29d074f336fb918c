// The hidden state of a recurrent net is kept between requests, with the graph of all requests so far.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');

class Decoder {
  weight = torch.randn([48, 48], { requiresGrad: true });
  output = torch.randn([48, 4], { requiresGrad: true });
  state = torch.zeros([8, 48]);

  next(input) {
    const mixed = this.state.matmul(this.weight).add(input);
    this.state = mixed.tanh(); // LEAK
    return this.state.matmul(this.output).softmax(1);
  }
}

const decoder = new Decoder();
steps(() => {
  decoder
    .next(torch.randn([8, 48]))
    .argmax()
    .item();
});
