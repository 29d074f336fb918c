/** Wrong arguments of averages and schedules. */
import { ARGUMENT, refused, wrong } from '../support/refused';
import { balanced, torch } from '../support/torch';

const { optim } = torch as any;

test('averages of weights, and the epoch of schedules in sequence', () => {
  const { getSwaAvgFn, getEmaAvgFn, getSwaMultiAvgFn, getEmaMultiAvgFn } = optim.swaUtils;
  const one = () => torch.ones([2]);
  balanced(() => {
    for (const next of [getSwaAvgFn(), getEmaAvgFn()]) {
      refused((value) => next(value, one(), 1), wrong, ARGUMENT, /AvgFn: argument 'average': expected a Tensor/);
      refused((value) => next(one(), value, 1), wrong, ARGUMENT, /AvgFn: argument 'parameter': expected a Tensor/);
    }
    for (const next of [getSwaMultiAvgFn(), getEmaMultiAvgFn()]) {
      refused((value) => next(value, [one()], 1), wrong, ARGUMENT, /AvgFn: argument 'averages/);
      refused((value) => next([one()], value, 1), [...wrong, []], ARGUMENT, /AvgFn: argument 'parameters/);
    }
    const counts = [undefined, null, '1', 1n, [1]];
    refused((count) => getSwaAvgFn()(one(), one(), count), counts, ARGUMENT, /argument 'averaged': expected a number/);
    const sequence = (lastEpoch: unknown) => {
      const sgd = new optim.SGD([one()], { lr: 1 });
      const { ConstantLR, SequentialLR } = optim.lrScheduler;
      return new SequentialLR(sgd, [new ConstantLR(sgd), new ConstantLR(sgd)], { milestones: [1], lastEpoch });
    };
    const epochs = [null, 'x', '', 0.5, Number.NaN, -2, [], {}];
    refused(sequence, epochs, ARGUMENT, /SequentialLR: argument 'lastEpoch': expected an integer of -1 or more/);
  });
});
