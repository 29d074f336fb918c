/** Writes ONNX models: the few fields of the format's protocol buffers that the cases need. */
'use strict';

function varint(value) {
  const bytes = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
/** A field with a number, and one with bytes, text or a message. */
const integer = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
function bytes(field, value) {
  const content = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
}
const integers = (field, values) => values.map((value) => integer(field, value));
const message = (parts) => Buffer.concat(parts.flat(2));

const FLOAT = 1;
const INTS = 7;

/** A value's name and shape. */
const value = (name, shape) => {
  const dims = shape.map((size) => bytes(1, integer(1, size)));
  const type = bytes(1, message([integer(1, FLOAT), bytes(2, message(dims))]));
  return message([bytes(1, name), bytes(2, type)]);
};
const weight = (name, { shape, data }) =>
  message([
    integers(1, shape),
    integer(2, FLOAT),
    bytes(8, name),
    bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ]);
const attribute = ([name, values]) =>
  Array.isArray(values)
    ? message([bytes(1, name), integers(8, values), integer(20, INTS)])
    : message([bytes(1, name), integer(3, values), integer(20, 2)]);
const node = ([op, inputs, output, attributes = {}]) =>
  message([
    inputs.map((name) => bytes(1, name)),
    bytes(2, output),
    bytes(4, op),
    Object.entries(attributes).map((entry) => bytes(5, attribute(entry))),
  ]);

/**
 * A model as bytes.
 * @param {[op: string, inputs: string[], output: string, attributes?: Record<string, number | number[]>][]} nodes
 * @param {Record<string, number[]>} inputs shapes
 * @param {{ name: string, shape: number[] }} output
 * @param {Record<string, { shape: number[], data: Float32Array }>} [weights]
 */
exports.model = (nodes, inputs, output, weights = {}) => {
  const graph = message([
    nodes.map((each) => bytes(1, node(each))),
    bytes(2, 'graph'),
    Object.entries(weights).map(([name, each]) => bytes(5, weight(name, each))),
    Object.entries(inputs).map(([name, shape]) => bytes(11, value(name, shape))),
    bytes(12, value(output.name, output.shape)),
  ]);
  const opset = message([bytes(1, ''), integer(2, 13)]);
  return message([integer(1, 8), bytes(7, graph), bytes(8, opset)]);
};
