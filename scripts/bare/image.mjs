/**
 * Builds examples/service/Dockerfile without an engine: each stage is a copy of a bare root, in which its instructions are
 * carried out. Then starts the image's command as its user, waits until its check of readiness succeeds, classifies a digit
 * and ends the service with its stop signal. The bare root stands in for node:*-slim, which is Debian with Node and npm.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { mountsBelow, runInside } from '../matrix/run-in-root.mjs';
import { inRoot } from '../paths.mjs';
import { runLogged } from '../steps/command.mjs';
import { StepError } from '../steps/errors.mjs';
import { say } from '../steps/progress.mjs';
import { stagesOf, wordsOf } from './dockerfile.mjs';

/** Folders of the bare root that are not part of a system: what the other checks wrote, and mounts. */
const notCopied = ['srv', 'proc', 'sys', 'dev', 'tmp', 'root', 'var/cache/apt', 'var/lib/apt/lists', 'usr/local/share'];
/** The user of the images of Node. */
const USER = { name: 'node', id: 1000 };

async function copySystem(from, to) {
  const excluded = notCopied.map((name) => `--exclude=./${name}/*`);
  const script = 'from=$1 to=$2; shift 2; tar -C "$from" "$@" -cf - . | tar -C "$to" -xf -';
  mkdirSync(to, { recursive: true });
  await runLogged('image-copy', 'bash', ['-o', 'pipefail', '-ec', script, 'copy', from, to, ...excluded]);
  appendFileSync(path.join(to, 'etc/passwd'), `${USER.name}:x:${USER.id}:${USER.id}::/home/${USER.name}:/bin/sh\n`);
}

/** Carries out the instructions of one stage. @returns {Promise<object>} the settings of the image */
async function buildStage(instructions, { root, context, stages, inside }) {
  const image = { root, cwd: '/', env: {}, user: 'root', command: [], check: [], signal: '' };
  for (const { name, text } of instructions) {
    if (name === 'WORKDIR') {
      image.cwd = path.posix.resolve(image.cwd, text);
      mkdirSync(path.join(root, image.cwd), { recursive: true });
    } else if (name === 'ENV') {
      const [variable, value] = text.split('=');
      image.env[variable] = value;
    } else if (name === 'COPY') {
      const words = text.split(/\s+/);
      const stage = /^--from=(.*)$/.exec(words[0])?.[1];
      const from = stage === undefined ? context : stages.get(stage).root;
      const sources = words.slice(stage === undefined ? 0 : 1, -1);
      const to = path.join(root, path.posix.resolve(image.cwd, words.at(-1)));
      const isFolder = words.at(-1).endsWith('/') && stage === undefined;
      for (const source of sources) {
        const target = isFolder ? path.join(to, path.basename(source)) : to;
        cpSync(path.join(from, source), target, { recursive: true, verbatimSymlinks: true });
      }
    } else if (name === 'RUN') {
      const where = { ...inside, root, cwd: image.cwd, env: { ...inside.env, ...image.env } };
      const status = await runInside(where, '/bin/sh', ['-c', text]);
      if (status !== 0) throw new StepError(`RUN ${text} ended with status ${status}.`);
    } else if (name === 'USER') image.user = text;
    else if (name === 'CMD') image.command = wordsOf(text);
    else if (name === 'HEALTHCHECK') image.check = wordsOf(text);
    else if (name === 'STOPSIGNAL') image.signal = text;
    else if (name !== 'FROM' && name !== 'EXPOSE') throw new StepError(`${name} is not known here.`);
  }
  return image;
}

const quoted = (words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');

/** From outside, where the mounts of the stages are not visible. */
function saySize({ root, cwd }) {
  const mebibytes = (folder) => Number(spawnSync('du', ['-sm', folder], { encoding: 'utf8' }).stdout.split('\t')[0]);
  say(`unpacked: ${mebibytes(root)} MiB, ${mebibytes(path.join(root, cwd))} MiB of them in ${cwd}`);
}

/** Starts the image in a network of its own, since its port may be taken here. */
async function runImage(image) {
  if (image.user !== USER.name) throw new StepError(`expected the user ${USER.name}, got ${image.user}`);
  const as = `setpriv --reuid=${USER.id} --regid=${USER.id} --clear-groups`;
  const request = `fetch('http://127.0.0.1:8080/classify', { method: 'POST', body: JSON.stringify({ pixels: Array(784).fill(0.5) }),
    headers: { 'content-type': 'application/json' } }).then(async (answer) => {
      const { digit } = await answer.json(); console.log('digit', digit); process.exit(answer.ok && digit >= 0 ? 0 : 1); });`;
  // SIOCSIFFLAGS: the loopback interface of a new network is down, and the base has no ip.
  const up = `socket(my $s, 2, 2, 0) or die; ioctl($s, 0x8914, my $r = pack("a16 s x14", "lo", 0x41)) or die`;
  const script = `
    perl -e ${quoted([up])}
    ${as} ${quoted(image.command)} & service=$!
    until ${as} ${quoted(image.check)}; do kill -0 $service; sleep 0.2; done
    echo ready
    ${as} node -e ${quoted([request])}
    kill -s ${image.signal} $service
    wait $service`;
  const where = { root: image.root, cwd: image.cwd, env: image.env };
  return runInside(where, 'unshare', ['--net', '--', '/bin/bash', '-ec', script]);
}

/**
 * @param {object} given
 * @param {string} given.base the bare root
 * @param {string} given.folder for the stages, removed afterwards
 * @param {string} given.context the folder with package.json, its lock file and model.pt
 * @param {import('../matrix/run-in-root.mjs').Inside} given.inside mounts and environment of npm
 * @returns {Promise<number>} the exit status of the service
 */
export async function tryImage({ base, folder, context, inside }) {
  const remove = () => {
    const mounted = mountsBelow(folder);
    if (mounted.length > 0) throw new StepError(`${folder} contains mounts: ${mounted.join(', ')}`);
    rmSync(folder, { recursive: true, force: true });
  };
  remove();
  const stages = new Map();
  try {
    for (const [i, instructions] of stagesOf(readFileSync(inRoot('examples/service/Dockerfile'), 'utf8')).entries()) {
      const root = path.join(folder, String(i));
      await copySystem(base, root);
      const name = / AS (\S+)$/.exec(instructions[0].text)?.[1] ?? String(i);
      stages.set(name, await buildStage(instructions, { root, context, stages, inside }));
    }
    const image = [...stages.values()].at(-1);
    const status = await runImage(image);
    saySize(image);
    return status;
  } finally {
    remove();
  }
}
