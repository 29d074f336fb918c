/** A step of LBFGS that fails for want of memory: the next ones work. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { torch } from '../support/torch';

// `node --expose-gc` is not how the tests run.
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

afterEach(() => torch.setMemoryLimit(null));

test('a step that fails anywhere leaves a state with which the next steps work', () => {
  let failures = 0;
  for (let room = 0; room < 32_000; room += 3900) {
    gc(); // the limit would collect what the last round left
    torch.scope(() => {
      const weight = torch.ones([1000], { requiresGrad: true });
      const closure = () => {
        weight.grad?.zero_();
        const loss = weight.pow(2).sum();
        loss.backward();
        return loss.detach();
      };
      const optimizer = new torch.optim.LBFGS([weight], { lr: 0.1 });
      closure();
      torch.setMemoryLimit(torch.memory().allocatedBytes + room);
      try {
        optimizer.step(closure);
      } catch (error) {
        expect((error as { code: string }).code).toBe('ERR_TORCH_MEMORY_LIMIT');
        failures++;
      }
      torch.setMemoryLimit(null);
      optimizer.step(closure);
      optimizer.loadStateDict(optimizer.stateDict());
      optimizer.step(closure);
      expect(weight.abs().max().item()).toBeLessThan(1);
    });
  }
  expect(failures).toBeGreaterThan(5);
});
