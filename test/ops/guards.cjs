/** Makes the calls of guards.json and prints a JSON line for each: its code and message, and what is live afterwards. */
'use strict';

const torch = require(process.argv[2]);

const release = torch.libtorchVersion.split('.').slice(0, 2).join('.');
const calls = require('./guards.json').filter(({ releases }) => releases?.includes(release) ?? true);

function made(value) {
  if (Array.isArray(value)) return value.map(made);
  if (value?.none) return null;
  if (value?.tensor === undefined) return value;
  if (value.zeros) return torch.ops.aten._efficientzerotensor.default(value.shape);
  return torch.scope(() => {
    const tensor = torch.tensor(value.tensor, { dtype: value.dtype }).view(value.shape);
    if (value.quantized) return torch.quantizePerTensor(tensor, 0.1, 0, 'quint8');
    if (value.mkldnn) return tensor.toMkldnn();
    if (value.nested) return torch.ops.aten._nested_tensor_from_tensor_list.default([tensor, tensor]);
    return value.csr ? tensor.toSparseCsr() : tensor;
  });
}

for (const { call, name, overload, args, keyword } of calls) {
  const values = [];
  for (const { value } of args) values.push(value?.same === undefined ? made(value) : values[value.same]);
  const positional = values.filter((_, i) => !keyword[i]);
  const named = args.map(({ name }, i) => [name, values[i]]).filter((_, i) => keyword[i]);
  const told = { call };
  try {
    torch.ops.aten[name][overload](...positional, ...(named.length > 0 ? [Object.fromEntries(named)] : []));
  } catch (error) {
    Object.assign(told, { code: error.code, message: error.message });
  }
  torch.disposeAll([positional, named]);
  console.log(JSON.stringify({ ...told, tensors: torch.memory().tensors }));
}
