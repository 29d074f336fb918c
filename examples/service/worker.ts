/** The program of a worker: it has the model but does not open sockets, and ends with the process that started it. */
import * as torch from 'libtorch-node';
import { LocalBackend } from './local';
import type { Floats, Question, Questions, Reply, WorkerSettings } from './messages';

const settings = JSON.parse(process.env.SERVICE_WORKER!) as WorkerSettings;
torch.setMemoryLimit(settings.memoryLimitMb * 2 ** 20);
const backend = new LocalBackend(1, settings);

const answers: { [S in keyof Questions]: (content: Questions[S]['content']) => Promise<Questions[S]['answer']> } = {
  load: async (file) => {
    await backend.load(file);
    return null;
  },
  infer: ({ data, shape }) =>
    torch.scope(async () => {
      const { probabilities, version } = await backend.infer(torch.fromTypedArray(data, shape));
      return { data: probabilities.toTypedArray() as Floats['data'], shape: probabilities.shape, version };
    }),
  memory: () => {
    const { tensors, bytes } = torch.memory();
    return Promise.resolve({ tensors, bytes });
  },
};

process.on('message', ({ id, subject, content }: Question) => {
  torch.audit
    .label('route', subject, () => answers[subject](content as never))
    .then(
      (answer) => send({ id, answer }),
      (error: { code?: string; message: string }) =>
        send({ id, code: error.code ?? 'INTERNAL', message: error.message ?? String(error) }),
    );
});

function send(reply: Reply): void {
  if (process.connected) process.send!(reply);
}

process.on('disconnect', () => process.exit());
// Ctrl-C reaches every process of the terminal, but the service shuts its workers down gracefully.
process.on('SIGINT', () => {}).on('SIGTERM', () => {});
