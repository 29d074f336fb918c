/** How many compilers may run at once: LTN_JOBS, else one per core, limited to one per 1.5 GiB of free memory. */
import os from 'node:os';

const bytesPerCompiler = 1.5 * 2 ** 30;

export const jobs = () => {
  const asked = Number(process.env.LTN_JOBS);
  if (Number.isInteger(asked) && asked > 0) return asked;
  return Math.max(1, Math.min(os.availableParallelism(), Math.floor(os.freemem() / bytesPerCompiler)));
};
