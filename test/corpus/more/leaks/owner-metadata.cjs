// A WeakMap whose keys live as long as the service.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const tenants = Array.from({ length: 5 }, (_, id) => ({ id }));
const results = new WeakMap(tenants.map((tenant) => [tenant, []]));

steps((i) => {
  const result = torch.scope(() => torch.randn([10, 10]).matmul(torch.randn([10, 9]))); // LEAK
  results.get(tenants[i % 5]).push(result);
});
