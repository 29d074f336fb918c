// A server on loopback keeps uploads until a client confirms; no client does.
const http = require('node:http');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const uploads = new Map();

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  uploads.set(request.url, torch.tensor([...Buffer.concat(chunks)])); // LEAK
  response.end('stored');
});

server.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  steps(async (i) => {
    const answer = await fetch(`${origin}/${i}`, { method: 'POST', body: Buffer.alloc(100, i) });
    await answer.text();
  });
});
