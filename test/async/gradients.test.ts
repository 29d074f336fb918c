/** Gradients that are replaced while a backward in the pool adds to them. */
import { ask } from '../support/child';

test('requests that train one model at once, each with its own zeroGrad', async () => {
  const answers = await ask(`
    const model = new torch.nn.Linear(32, 32);
    const optimizer = new torch.optim.SGD(model.parameters(), { lr: 1e-4 });
    const x = torch.rand([16, 32]);
    const before = torch.memory().tensors;
    let steps = 0;
    const request = async () => {
      while (steps++ < 8000) {
        optimizer.zeroGrad();
        await torch.run((t) => t.backward(model.forward(x).sum()));
        optimizer.step();
      }
    };
    (async () => {
      await Promise.all([request(), request(), request(), request()]);
      optimizer.zeroGrad();
      const isFinite = torch.scope(() => model.weight.isfinite().all().item());
      answer([isFinite, model.weight.grad, torch.memory().tensors - before]);
    })();
  `);
  expect(answers).toEqual([true, null, 0]);
});
