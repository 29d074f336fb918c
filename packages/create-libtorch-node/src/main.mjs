/** From the command line to a project. */
import path from 'node:path';
import { help, readArguments } from './arguments.mjs';
import { askForRest } from './ask.mjs';
import { ExitCode, FailedError, Interrupted, printable, UsageError } from './errors.mjs';
import { endInstall, install, managerOf } from './npm.mjs';
import { folderProblem, openPlace, packageName } from './place.mjs';
import { step } from './progress.mjs';
import { version, writeProject } from './project.mjs';
import { defaultTemplate, templates } from './templates.mjs';

const isTerminal = () => Boolean(process.stdin.isTTY) && Boolean(process.stderr.isTTY);

/** Rejects when the process is asked to end; `off` stops listening. */
function interruption() {
  const signals = Object.keys(ExitCode.interrupted);
  let report = () => {};
  const promise = new Promise((_, reject) => {
    report = (signal) => reject(new Interrupted(signal));
  });
  promise.catch(() => {}); // also without a step that waits for it
  for (const signal of signals) process.on(signal, report);
  return { promise, off: () => signals.forEach((signal) => void process.off(signal, report)) };
}

/** Folder and template: given, asked for on a terminal, or the defaults of --yes. */
async function decided({ folder, template, yes }) {
  const problem = folder === undefined ? null : folderProblem(folder);
  if (problem !== null) throw new UsageError(problem);
  if (folder !== undefined && (template !== undefined || yes)) {
    return { folder, template: template ?? defaultTemplate };
  }
  if (!yes && isTerminal()) return askForRest({ folder, template }, folderProblem);
  const missing = folder === undefined ? 'a folder' : '--template or --yes';
  throw new UsageError(
    `expected ${missing}, got none, and ${yes ? '--yes asks nothing' : 'there is no terminal to ask on'}`,
  );
}

/** Makes the project, or leaves everything as it was. */
async function make({ folder, template, install: wanted, systemLibtorch }) {
  const interrupted = interruption();
  let place;
  let stopped = false;
  const steps = async () => {
    place = openPlace(folder);
    const { staging } = place;
    await step(`files of the template ${template}`, () =>
      writeProject({ folder: staging, name: packageName(folder), template, systemLibtorch }),
    );
    if (wanted) await step(`${managerOf()} install`, () => install(staging));
    if (!stopped) place.finish(); // npm may end well although it was asked to end early
  };
  try {
    await Promise.race([steps(), interrupted.promise]);
  } catch (error) {
    stopped = true;
    if (error instanceof Interrupted) await endInstall(error.signal);
    place?.discard();
    if (error.syscall !== undefined) {
      throw new FailedError(`${printable(folder)} could not be made (${error.code}). Nothing was made.`);
    }
    throw error;
  } finally {
    interrupted.off();
  }
}

function summary({ folder, template, install: wanted }) {
  const to = path.relative('.', path.resolve(folder));
  const lines = [
    ...(to === '' ? [] : [`cd ${printable(to)}`]),
    ...(wanted ? [] : [`${managerOf()} install`]),
    ...new Set([templates[template].next, 'npm test', 'npm run leaks']),
  ];
  return `Made ${printable(to === '' ? 'the project' : to)}. Next:\n\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

async function run(argv) {
  const given = readArguments(argv);
  if (given.help) return void process.stdout.write(help);
  if (given.version) return void process.stdout.write(`${version}\n`);
  const project = { ...given, ...(await decided(given)) };
  await make(project);
  process.stdout.write(summary(project));
}

/** Runs the program and sets the exit status. @param {string[]} argv */
export async function main(argv) {
  try {
    await run(argv);
  } catch (error) {
    if (error instanceof Interrupted) {
      process.stderr.write('\ncreate-libtorch-node: interrupted, nothing was made\n');
      process.exitCode = ExitCode.interrupted[error.signal];
    } else if (error instanceof UsageError) {
      process.stderr.write(`create-libtorch-node: ${error.message} (see create-libtorch-node --help)\n`);
      process.exitCode = ExitCode.usage;
    } else if (error instanceof FailedError) {
      process.stderr.write(`create-libtorch-node: ${error.message}\n`);
      process.exitCode = ExitCode.failed;
    } else throw error;
  }
}
