/** Makes whatever calls it is asked for, as a service would whose callers choose the op: the plans of the fuzzer (test/fuzz). */
'use strict';

const http = require('node:http');
const { callerOf } = require('../fuzz/caller.cjs');
const { LIB, answerDriver } = require('./program.cjs');

/** More than the fuzzer's plans have. */
const MAX_BYTES = 64 * 1024;
const findings = [];
const counts = { result: 0, error: 0 };
const { all, call, judge } = callerOf(LIB, {
  found: (finding) => findings.push(finding),
  counted: (kind) => counts[kind]++,
});
let current;
process.on('unhandledRejection', (error) => judge(error, current));

let number = 0;
let turn = Promise.resolve();
/** One call after another: what a call leaves is counted at its end. */
function answer(text) {
  turn = turn.then(async () => {
    const before = { ...counts };
    const plan = JSON.parse(text);
    current = plan;
    await call(plan, ++number);
    return counts.error > before.error ? 422 : 200;
  });
  const status = turn;
  turn = turn.catch(() => {});
  return status;
}

const server = http.createServer((request, response) => {
  const parts = [];
  let length = 0;
  request.on('data', (part) => {
    length += part.length;
    if (length > MAX_BYTES) request.destroy();
    else parts.push(part);
  });
  request.on('error', () => {}); // the client has gone
  request.on('end', async () => {
    const status = await answer(Buffer.concat(parts).toString()).catch(() => 400);
    response.writeHead(status, { connection: 'close' }).end();
  });
});

answerDriver({
  listen: () => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port))),
  /** What a plan is made of (plan.cjs), so that the driver does not load libtorch. */
  targets: () => all.map(({ fn: _, async: mirrored, ...rest }) => ({ ...rest, async: mirrored !== undefined })),
  findings: () => findings.splice(0),
  counts: () => counts,
  model: () => ({ tensors: 0, bytes: 0 }),
});
