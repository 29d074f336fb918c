#!/usr/bin/env node
/** `leak-audit`: finds the source lines whose tensors leak. */
import { commands } from './commands';
import { main } from './program/program';

main({
  name: 'leak-audit',
  description: 'Finds the source lines whose tensors leak, and how fast they grow.',
  commands,
  more: `
Begin with \`leak-audit run -- node app.js\`. Keep the capture with -o app.ltna
for \`leak-audit report app.ltna --html app.html\` and other commands.
\`leak-audit COMMAND --help\` shows the options of a command.`,
});
