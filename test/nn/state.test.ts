/** What modules keep: initial values. */
import { torch } from '../support/torch';

const { nn } = torch;

test('resetParameters gives the values of a new module', () => {
  const values = (net: InstanceType<typeof nn.Module>) => net.parameters().map((one) => one.toArray());
  for (const make of [
    () => new nn.LayerNorm(3),
    () => new nn.GroupNorm(2, 4),
    () => new nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4]),
    () => new nn.BatchNorm1d(3),
  ]) {
    torch.manualSeed(0);
    const net = make();
    const first = values(net);
    torch.noGrad(() => {
      for (const one of net.parameters()) one.fill_(7);
    });
    torch.manualSeed(0);
    net.resetParameters();
    expect(values(net)).toEqual(first);
    net.dispose();
  }
});
