/** The program of a worker. The library is loaded as a program loads it, before the part of it that serves. */
import { workerData } from 'node:worker_threads';
import type { WorkerData } from './messages';

const given = workerData as WorkerData;
require(given.library);
const { serve } = require('./serve') as typeof import('./serve');
serve(given);
