/** Wrong arguments of averages and schedules. */
import { ARGUMENT, refused, wrong } from '../support/refused';
import { balanced, torch } from '../support/torch';

const { optim } = torch as any;

test('states of schedules: what has none of the keys would change nothing', () => {
  const { StepLR, OneCycleLR, ReduceLROnPlateau, CosineAnnealingWarmRestarts } = optim.lrScheduler;
  balanced(() =>
    torch.scope(() => {
      const sgd = new optim.SGD([torch.ones([2])], { lr: 1 });
      const schedules = [
        ...[new StepLR(sgd, 2), new CosineAnnealingWarmRestarts(sgd, 2), new ReduceLROnPlateau(sgd)],
        new OneCycleLR(sgd, 1, { totalSteps: 5 }),
      ];
      for (const schedule of schedules) {
        const load = (state: unknown) => schedule.loadStateDict(state);
        const objects = [new Map(), new Date(), new Uint8Array(2), Promise.resolve({}), sgd, torch.ones([2])];
        refused(
          load,
          [...wrong.filter((value) => typeof value !== 'object'), ...objects],
          ARGUMENT,
          /'stateDict': expected/,
        );
        refused(
          load,
          [{}, { lr: 1 }, sgd.stateDict()],
          ARGUMENT,
          /argument 'stateDict': expected an object with .*last_epoch/,
        );
        load({ last_epoch: 3 });
        expect(schedule.lastEpoch).toBe(3);
      }
      sgd.dispose();
    }),
  );
});

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

test('schedules of schedules name the element that is not one', () => {
  const { ChainedScheduler, SequentialLR, StepLR } = optim.lrScheduler;
  const sgd = new optim.SGD([torch.ones([2])], { lr: 1 });
  const step = new StepLR(sgd, 2);
  for (const make of [
    (list: unknown) => new ChainedScheduler(list),
    (list: unknown) => new SequentialLR(sgd, list, [1]),
  ]) {
    refused(make, [[step, null]], ARGUMENT, /argument 'schedulers\[1\]': expected a scheduler, got null/);
    refused(make, [[], step], ARGUMENT, /argument 'schedulers': expected a list of one scheduler or more/);
  }
});
