/** The formats of `leak-audit export`, in the order of `--help`. */
import { collapsed } from './collapsed';
import { csv } from './csv';
import type { Format } from './format';
import { pprof } from './pprof';
import { speedscope } from './speedscope';

export const formats: Format[] = [pprof, speedscope, collapsed, csv];
