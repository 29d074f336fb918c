// A server on loopback whose requests each have a scope.
const http = require('node:http');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([100]);

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  response.end(
    String(
      torch.scope(() =>
        torch
          .tensor([...Buffer.concat(chunks)])
          .dot(w)
          .item(),
      ),
    ),
  );
});

server.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${server.address().port}`;
  steps(async (i) => {
    const answer = await fetch(origin, { method: 'POST', body: Buffer.alloc(100, i) });
    await answer.text();
  });
});
