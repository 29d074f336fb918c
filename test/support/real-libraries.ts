/** For programs that need the libraries which tests leave out (scripts/steps/unused-libraries.mjs). */
import * as path from 'node:path';
import { ROOT } from './torch';

const EMPTY = path.join(ROOT, 'build/unused-libraries');

/** The environment without the folder of empty libraries. */
export function withRealLibraries(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LD_LIBRARY_PATH = '', ...others } = env;
  const folders = LD_LIBRARY_PATH.split(':').filter((folder) => folder !== '' && folder !== EMPTY);
  return folders.length > 0 ? { ...others, LD_LIBRARY_PATH: folders.join(':') } : others;
}
