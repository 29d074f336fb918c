#!/usr/bin/env node
/** `libtorch-node`: checks and builds the library on this machine. */
import { main } from './program/program';

main({
  name: 'libtorch-node',
  description: 'Checks and builds libtorch-node on this machine.',
  commands: {
    doctor: () => (require('./commands/doctor') as typeof import('./commands/doctor')).doctorCommand,
    build: () => (require('./commands/build') as typeof import('./commands/build')).buildCommand,
  },
});
