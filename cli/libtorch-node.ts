#!/usr/bin/env node
/** `libtorch-node`: checks and builds the library on this machine. */
import { buildCommand } from './commands/build';
import { doctorCommand } from './commands/doctor';
import { main } from './program/program';

main({
  name: 'libtorch-node',
  description: 'Checks and builds libtorch-node on this machine.',
  commands: [doctorCommand, buildCommand],
});
