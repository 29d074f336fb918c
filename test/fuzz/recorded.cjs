/** A program whose recording is the good capture of the fuzzer: recorded.cjs LIB. */
'use strict';

const path = require('node:path');
const torch = require(path.join(process.argv[2], 'index.js'));

const held = [];
torch.audit.mark('begin');
for (let i = 0; i < 20; i++) {
  torch.scope((scope) => {
    held.push(scope.move(torch.ones([i + 1, 3]).add(1)));
    torch.rand([4, 4]).matmul(torch.rand([4, 4]));
  });
  if (i === 10) torch.audit.mark('middle');
}
torch.audit.label('part', 'last', () => held.push(torch.zeros([3])));
