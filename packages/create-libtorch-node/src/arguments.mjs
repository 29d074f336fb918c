/** Reads the command line. */
import { parseArgs } from 'node:util';
import { printable, UsageError } from './errors.mjs';
import { defaultTemplate, templateNames, templates } from './templates.mjs';

export const help = `Usage: create-libtorch-node [options] [folder]
       npm create libtorch-node@latest [folder] -- [options]

Makes a TypeScript project that uses libtorch-node, with tests and a leak check.
On a terminal it asks for what is missing.

Arguments:
  folder                 the project's folder: a new one, an empty one, or .

Options:
  -t, --template <name>  ${templateNames.join(', ')} (default: ${defaultTemplate})
  -y, --yes              ask nothing and use the defaults
  --no-install           do not run npm install
  --system-libtorch      do not add the npm package that carries libtorch: use
                         the system's, PyTorch's, or the one LIBTORCH names
  -h, --help             display help
  -V, --version          display the version

Templates:
${templateNames.map((name) => `  ${name.padEnd(10)}${templates[name].summary}`).join('\n')}

Exit status: 0 made, 1 a step failed, 2 wrong usage, 130 interrupted. If it is
not 0, nothing was made.
`;

const options = {
  template: { type: 'string', short: 't' },
  yes: { type: 'boolean', short: 'y', default: false },
  install: { type: 'boolean', default: true },
  'system-libtorch': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'V', default: false },
};

/** @param {string[]} argv without node and the program */
export function readArguments(argv) {
  let parsed;
  try {
    parsed = parseArgs({ args: argv, options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    // parseArgs's own messages name the option; its advice on `--` is for a program with such arguments.
    throw new UsageError(error.message.split('. ')[0].replace(/\.$/, ''));
  }
  const { values, positionals } = parsed;
  if (positionals.length > 1) {
    throw new UsageError(`expected one folder, got ${positionals.map((name) => printable(name)).join(', ')}`);
  }
  const { template } = values;
  if (template !== undefined && !templateNames.includes(template)) {
    throw new UsageError(`--template: expected ${templateNames.join(', ')}, got ${printable(template)}`);
  }
  return {
    folder: positionals[0],
    template,
    yes: values.yes,
    install: values.install,
    systemLibtorch: values['system-libtorch'],
    help: values.help,
    version: values.version,
  };
}
