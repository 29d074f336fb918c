#!/usr/bin/env node
/** `leak-audit`: shows which source line holds tensors. */
import { commands } from './commands';
import { main } from './program/program';

main({
  name: 'leak-audit',
  description: 'Shows which source line holds tensors, and how fast it grows.',
  commands,
  more: `
Begin with \`leak-audit run -- node app.js\`. Keep the capture with -o app.ltna
for \`leak-audit report app.ltna --html app.html\` and other commands.
\`leak-audit COMMAND --help\` shows the options of a command.`,
});
