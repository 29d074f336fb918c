/**
 * A small library of layers whose sizes are types: the compiler refuses a chain of layers that do not fit, in the line that
 * builds it, and names the conflicting sizes. `node examples/layers.js`
 */
import torch, { type Tensor } from 'libtorch-node';

/** Takes any number of rows of `In` features and returns rows of `Out` features. */
export interface Layer<In extends number, Out extends number> {
  readonly parameters: readonly Tensor[];
  /** A property instead of a method, because the compiler compares parameters of methods less strictly. */
  readonly forward: <B extends number>(x: Tensor<'float32', [B, In]>) => Tensor<'float32', [B, Out]>;
}

export function linear<In extends number, Out extends number>(inputs: In, outputs: Out): Layer<In, Out> {
  const weight = torch.randn([inputs, outputs]).mul(Math.sqrt(2 / inputs));
  const bias = torch.zeros([outputs]);
  return {
    parameters: [weight, bias],
    forward: (x) => torch.addmm(bias, x, weight),
  };
}

export function relu<N extends number>(): Layer<N, N> {
  return { parameters: [], forward: (x) => x.relu() };
}

/** Chains two layers: the second takes the output of the first. */
export function chain<A extends number, B extends number, C extends number>(
  first: Layer<A, B>,
  second: Layer<B, C>,
): Layer<A, C> {
  return {
    parameters: [...first.parameters, ...second.parameters],
    forward: (x) => second.forward(first.forward(x)),
  };
}

/** The mean of each kind of rows. Sizes may be unknown; known ones are checked. */
export function centred<B extends number, N extends number>(x: Tensor<'float32', [B, N]>): Tensor<'float32', [B, N]> {
  return x.sub(x.mean(0));
}

if (require.main === module) {
  torch.manualSeed(7);
  const net = chain(chain(linear(20, 8), relu()), linear(8, 3));
  const scores: Tensor<'float32', [5, 3]> = net.forward(torch.ones([5, 20]));
  console.log(`5 rows of 20 give ${scores.shape.join(' × ')}`);

  // The number of rows may also be known only at run time.
  const rows: number = process.argv.length + 2;
  const some: Tensor<'float32', [number, 3]> = net.forward(centred(torch.rand([rows, 20])));
  console.log(`${rows} rows give ${some.shape.join(' × ')}, largest ${some.max().item() > 0 ? 'above' : 'below'} 0`);

  // @ts-expect-error: 8 features do not go into a layer of 9
  const wrong = () => chain(linear(20, 8), linear(9, 3));
  // @ts-expect-error: rows of 21 do not go into a net of 20
  const short = () => net.forward(torch.ones([5, 21]));
  for (const mistake of [wrong as () => unknown, short as () => unknown]) {
    try {
      const result = mistake() as Layer<20, 3>;
      result.forward(torch.ones([5, 20]));
    } catch (error) {
      console.log(`at run time too: ${(error as { code: string }).code}`);
    }
  }
  console.log(`${net.parameters.reduce((sum, { numel }) => sum + numel, 0)} parameters`);
}
