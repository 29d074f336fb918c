/**
 * Clients of a service that reads digits: each has one connection and sends its next request after each answer.
 *
 *   node bench/service/load.mjs '{ "url", "connections", "seconds", "requests"?, "digits"?, "first"? }'
 *
 * Each client sends `requests` requests, or stops when `seconds` have passed or on SIGINT; `first` replaces the first
 * pixel. Prints `all answered` when each client has had an answer, and at the end one line of JSON, a `Result`. A request
 * is lost when its connection ends before the answer, if the service has answered on that connection before. A client
 * ends when an answer says `connection: close`.
 */
import net from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { readDigits } from './digits.mjs';

/**
 * @typedef {object} Result
 * @property {number} seconds
 * @property {Record<string, number>} answers by status
 * @property {number} right answers with the right digit, among those with 200
 * @property {number} lost
 * @property {number} unconnected clients that were never answered on their connection
 * @property {number} closed clients that the service asked to close their connection
 * @property {number} withoutRetryAfter answers with 503 without a retry-after header
 * @property {{ p50: number, p99: number, max: number }} ms from the request to the end of its answer
 */

const given = JSON.parse(process.argv[2]);
const { connections, seconds, requests = Number.POSITIVE_INFINITY, digits = 200, first } = given;
const url = new URL('/classify', given.url);
const questions = readDigits(digits).map(({ pixels, label }) => {
  const body = JSON.stringify({ pixels: first === undefined ? pixels : pixels.with(0, first) });
  const head =
    `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return { bytes: Buffer.from(head + body), label };
});

const latency = createHistogram();
/** @type {Result} */
const result = {
  seconds: 0,
  answers: {},
  right: 0,
  lost: 0,
  unconnected: 0,
  closed: 0,
  withoutRetryAfter: 0,
  ms: { p50: 0, p99: 0, max: 0 },
};
let answeredClients = 0;
const start = performance.now();
let isStopped = false;
process.on('SIGINT', () => {
  isStopped = true;
});
const isOver = () => isStopped || performance.now() - start >= seconds * 1000;

/** The first answer in `text`; undefined while it is incomplete. Every service here sends content-length. */
function parse(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end).toLowerCase();
  const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1]);
  if (Number.isNaN(length)) throw new Error(`expected an answer with content-length, got:\n${head}`);
  if (text.length < end + 4 + length) return undefined;
  return { status: head.slice(9, 12), head, body: text.slice(end + 4, end + 4 + length) };
}

function note({ status, head, body }, label) {
  result.answers[status] = (result.answers[status] ?? 0) + 1;
  if (status === '200' && Number(/"digit": *(\d)/.exec(body)?.[1]) === label) result.right++;
  if (status === '503' && !/\r\nretry-after: *\d/.test(head)) result.withoutRetryAfter++;
}

/** Runs one client until its connection closes. */
const client = (number) =>
  new Promise((resolve) => {
    const socket = net.connect(Number(url.port), url.hostname).setNoDelay(true);
    let text = '';
    let asked = 0;
    let sent = 0;
    let question;
    const ask = () => {
      if (asked >= requests || isOver()) return socket.end();
      question = questions[(number + asked * connections) % questions.length];
      asked++;
      text = '';
      sent = process.hrtime.bigint();
      socket.write(question.bytes);
    };
    socket.setEncoding('latin1');
    socket.on('connect', ask);
    socket.on('data', (chunk) => {
      text += chunk;
      const answer = parse(text);
      if (answer === undefined) return;
      latency.record(process.hrtime.bigint() - sent);
      note(answer, question.label);
      question = undefined;
      if (asked === 1 && ++answeredClients === connections) process.stdout.write('all answered\n');
      if (!/\r\nconnection: *close/.test(answer.head)) return ask();
      result.closed++;
      socket.end();
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => {
      if (question !== undefined && asked > 1) result.lost++;
      else if (asked === 0 || question !== undefined) result.unconnected++;
      resolve();
    });
  });

await Promise.all(Array.from({ length: connections }, (_, number) => client(number)));
result.seconds = (performance.now() - start) / 1000;
if (latency.count > 0) {
  const ms = (percent) => latency.percentile(percent) / 1e6;
  result.ms = { p50: ms(50), p99: ms(99), max: latency.max / 1e6 };
}
process.stdout.write(`${JSON.stringify(result)}\n`);
