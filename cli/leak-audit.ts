#!/usr/bin/env node
/** `leak-audit`: which source line holds the tensors? */
import { commands } from './commands';
import { main } from './program';

main({
  name: 'leak-audit',
  description: 'Shows which source line holds tensors, and how fast it grows.',
  commands,
  more: `
Begin with \`leak-audit run -- node app.js\`; with -o app.ltna the capture stays,
for \`leak-audit report app.ltna --html app.html\` and the other commands.
\`leak-audit COMMAND --help\` says more of each.`,
});
