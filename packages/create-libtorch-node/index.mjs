#!/usr/bin/env node
/** `npm create libtorch-node@latest`: makes a project from a template. */
import { main } from './src/main.mjs';

await main(process.argv.slice(2));
