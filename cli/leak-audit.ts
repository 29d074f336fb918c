#!/usr/bin/env node
/** `leak-audit`: which source line holds the tensors? */
import { commands } from './commands';
import { main } from './program';

main({
  name: 'leak-audit',
  description: 'Shows which source line holds tensors, and how fast it grows.',
  commands,
});
