/** The properties of a model's inputs from the source in a package: the same on every libtorch. */
import * as path from 'node:path';
import { LIB } from '../support/torch';

const { inputsOf, packed } = require(path.join(LIB, 'inductor/inputs.js'));

/** Excerpts in the form of torch/_inductor/codegen/cpp_wrapper_cpu.py. */
const check = (number: number, name: string, dtype: string, conditions: string[]) => `
AOTI_NOINLINE static void check_input_${number}(
    AtenTensorHandle* input_handles
) {
    ConstantHandle ${name} = ConstantHandle(input_handles[${number}]);
    int32_t ${name}_dtype;

    int32_t ${name}_expected_dtype = aoti_torch_dtype_${dtype}();
    if (${name}_expected_dtype != ${name}_dtype) {
    }
${conditions.map((condition) => `    if (${condition}) {\n        throw std::runtime_error();\n    }\n`).join('')}
}
`;
const END = `
void AOTInductorModel::run_impl(
    if (9 != arg0_1_size[0]) {
`;

test('dtypes, sizes and strides', () => {
  const source =
    check(0, 'arg0_1', 'float32', [
      ...['arg0_1_size[0] < 2', 'arg0_1_size[0] > 1024', '6 != arg0_1_size[1]'],
      ...['6 != arg0_1_stride[0]', '1 != arg0_1_stride[1]'],
    ]) +
    check(1, 'arg0_10', 'int64', []) +
    check(2, 's', 'bool', ['s_size[0] < 3', 's_size[1] < 0', '1 != s_stride[2]']) +
    END;
  expect([...inputsOf(source)]).toEqual([
    [
      0,
      {
        dtype: 'float32',
        sizes: [
          { least: 0, most: 1024, stride: 6 },
          { least: 6, most: 6, stride: 1 },
        ],
      },
    ],
    [1, { dtype: 'int64', sizes: [] }],
    [
      2,
      {
        dtype: 'bool',
        sizes: [
          { least: 3, most: Number.MAX_SAFE_INTEGER, stride: -1 },
          { least: 0, most: Number.MAX_SAFE_INTEGER, stride: -1 },
          { least: 0, most: Number.MAX_SAFE_INTEGER, stride: 1 },
        ],
      },
    ],
  ]);
});

test('unknown properties are missing', () => {
  expect(inputsOf('').size).toBe(0);
  expect(inputsOf('void AOTInductorModel::run_impl(').size).toBe(0);
  expect(inputsOf(check(0, 'a', 'no_such_dtype', [])).size).toBe(0);
  const more =
    check(0, 'a', 'no_such_dtype', []) + check(1, 'b', 'float64', ['2 != b_size[0]', '1 != b_stride[0]']) + END;
  expect([...inputsOf(more).keys()]).toEqual([1]);
  expect(inputsOf(check(0, 'a', 'float32', ['1 != a_size[1000000]'])).size).toBe(0);
});

test('as read by native code', () => {
  const source = check(3, 'a', 'float64', ['2 != a_size[0]', '1 != a_stride[0]']) + END;
  const code = packed(inputsOf(source));
  expect([code[0], ...code.slice(2)]).toEqual([3, 1, 2, 2, 1]);
  expect(packed(inputsOf(check(0, 'a', 'float32', []) + END)).slice(2)).toEqual([0]);
});
