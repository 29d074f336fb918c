/** Makes the calls of guards.json and prints a JSON line for each: its code and message, and what is live afterwards. */
'use strict';

const torch = require(process.argv[2]);
const calls = require('./guards.json');

function made(value) {
  if (Array.isArray(value)) return value.map(made);
  if (value?.none) return null;
  if (value?.tensor === undefined) return value;
  return torch.scope(() => torch.tensor(value.tensor, { dtype: value.dtype }).view(value.shape));
}

for (const { call, name, overload, args, keyword } of calls) {
  const positional = args.filter((_, i) => !keyword[i]).map(({ value }) => made(value));
  const named = args.filter((_, i) => keyword[i]).map((arg) => [arg.name, made(arg.value)]);
  const told = { call };
  try {
    torch.ops.aten[name][overload](...positional, ...(named.length > 0 ? [Object.fromEntries(named)] : []));
  } catch (error) {
    Object.assign(told, { code: error.code, message: error.message });
  }
  torch.disposeAll([positional, named]);
  console.log(JSON.stringify({ ...told, tensors: torch.memory().tensors }));
}
