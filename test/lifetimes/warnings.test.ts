/** A warning of libtorch is an Error emitted on the next tick: until then it must not keep the tensor alive. */
import { ask } from '../support/child';

test('a tensor whose op warned is collected before the warning is delivered', async () => {
  const { kept, delivered } = await ask(
    `
    (() => { torch.ones([1], { dtype: 'complex64' }).to('float32'); })();
    gc();
    const kept = torch.memory().tensors;
    process.on('warning', ({ name, message, stack }) => {
      answer({ kept, delivered: { name, message, stack: stack.startsWith(name + ': ' + message + '\\n    at ') } });
    });
  `,
    ['--expose-gc', '--no-warnings'],
  );
  expect(kept).toBe(0);
  expect(delivered).toEqual({
    name: 'TorchWarning',
    message: expect.stringContaining('discards the imaginary part'),
    stack: true,
  });
});
