/** Numbers that TypeScript and C++ pass to each other, and the variables of launchers. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { LIB, ROOT, torch } from '../support/torch';

const header = readFileSync(path.join(ROOT, 'native/distributed/library.h'), 'utf8');
const { Kind } = require(path.join(LIB, 'distributed/work.js')) as { Kind: Record<string, string | number> };
const launch = require(path.join(LIB, 'distributed/launch.js')) as {
  meetingOf(
    method: string,
    rank: number | undefined,
    size: number | undefined,
    env: Record<string, string>,
  ): Record<string, unknown>;
};

/** The elements of a list in braces, in order. */
function listed(start: RegExp): string[] {
  const body = new RegExp(`${start.source}\\s*\\{([^}]*)\\}`).exec(header)![1]!;
  return body
    .split(',')
    .map((element) => element.trim().replaceAll('"', ''))
    .filter((element) => element !== '');
}

test('kinds of collectives and reduce ops have the same numbers in both languages', () => {
  const kinds = listed(/enum class Kind : uint8_t/);
  expect(kinds.length).toBeGreaterThan(10);
  expect(Object.keys(Kind).filter((key) => !/^\d+$/.test(key))).toEqual(kinds);
  expect(kinds.map((kind) => Kind[kind])).toEqual(kinds.map((_, i) => i));
  expect(Object.values(torch.distributed.ReduceOp)).toEqual(listed(/kReduceOps\[\] =/));
});

describe('the place of a rank', () => {
  const env = (variables: Record<string, string>, rank?: number, size?: number) =>
    launch.meetingOf('env://', rank, size, variables);
  const master = { MASTER_ADDR: '10.0.0.1', MASTER_PORT: '29500' };

  test.each([
    // srun: no MASTER_ADDR, the first host of the list; leading zeros stay.
    ['node[03-07,9],other', 'node03'],
    ['gpu-a,gpu-b', 'gpu-a'],
    ['rack1-[2,4-6].cluster', 'rack1-2.cluster'],
    ['single', 'single'],
  ])('Slurm: of %s the first is %s', (list, host) => {
    const slurm = { SLURM_PROCID: '3', SLURM_NTASKS: '8', MASTER_PORT: '29500' };
    const expected = { kind: 'tcp', rank: 3, size: 8, host, port: 29500 };
    expect(env({ ...slurm, SLURM_STEP_NODELIST: list })).toEqual(expected);
    expect(env({ ...slurm, SLURM_JOB_NODELIST: list })).toEqual(expected);
    expect(env({ ...slurm, SLURM_STEP_NODELIST: list, ...master })).toEqual({ ...expected, host: '10.0.0.1' });
  });

  test("Kubeflow's PyTorchJob, torchrun: RANK and WORLD_SIZE come before those of Slurm, options before both", () => {
    const job = { ...master, RANK: '1', WORLD_SIZE: '4', PET_NNODES: '4', PYTHONUNBUFFERED: '1' };
    expect(env(job)).toEqual({ kind: 'tcp', rank: 1, size: 4, host: '10.0.0.1', port: 29500 });
    expect(env({ ...job, SLURM_PROCID: '3', SLURM_NTASKS: '8' })).toMatchObject({ rank: 1, size: 4 });
    expect(env(job, 2, 3)).toMatchObject({ rank: 2, size: 3 });
  });

  test('tcp:// and file://', () => {
    const place = (method: string, rank?: number, size?: number) => launch.meetingOf(method, rank, size, { RANK: '9' });
    expect(place('tcp://host:80?rank=1&world_size=2')).toEqual({
      kind: 'tcp',
      host: 'host',
      port: 80,
      rank: 1,
      size: 2,
    });
    expect(place('tcp://[::1]:29500', 0, 2)).toEqual({ kind: 'tcp', host: '::1', port: 29500, rank: 0, size: 2 });
    expect(place('file:///shared/a%20b', 0, 2)).toEqual({ kind: 'file', path: '/shared/a b', rank: 0, size: 2 });
  });

  test.each([
    ['no rank', { WORLD_SIZE: '2', ...master }, /the rank is not known.*RANK or SLURM_PROCID/],
    ['no size', { RANK: '0', ...master }, /the number of ranks is not known.*WORLD_SIZE or SLURM_NTASKS/],
    ['no address', { RANK: '0', WORLD_SIZE: '2', MASTER_PORT: '1' }, /MASTER_ADDR/],
    ['no port', { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: 'a' }, /MASTER_PORT/],
    ['a wrong rank', { ...master, RANK: '-1', WORLD_SIZE: '2' }, /RANK: expected an integer from 0 .*got '-1'/],
    [
      'a wrong port',
      { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: 'a', MASTER_PORT: '70000' },
      /from 0 to 65535, got '70000'/,
    ],
  ])('%s is an error that names the variable', (_, variables, message) => {
    expect(() => env(variables as unknown as Record<string, string>)).toThrow(
      expect.objectContaining({ code: 'ERR_TORCH_DISTRIBUTED', message: expect.stringMatching(message) }),
    );
  });

  test.each(['tcp://host', 'tcp://:80', 'file:///', 'mpi://a'])('%s is refused', (method) => {
    expect(() => launch.meetingOf(method, 0, 2, {})).toThrow(expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT' }));
  });

  test('tcp:// without a rank is refused', () => {
    expect(() => launch.meetingOf('tcp://host:80', undefined, 2, {})).toThrow(
      expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT', message: expect.stringContaining("'rank'") }),
    );
  });
});
