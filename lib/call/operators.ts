/**
 * JavaScript's operators on tensors. Unlike in Python, a class cannot overload them, so they throw an error that names the
 * call to use, instead of giving NaN or undefined.
 */
import { codedError } from '../errors/errors';
import { type assignedInPython, isTensor, notThis, Tensor } from '../tensor/tensor';
import { isIndex, ofElements, reportMissingNames } from './misses';

const instead = {
  number:
    'Tensor: expected a number in an operator or function of JavaScript, got a Tensor: write t.item() for the number of a ' +
    'tensor with one element, a.sub(b) for a - b, a.mul(b) for a * b, a.gt(b) for a > b, t.neg() for -t',
  default:
    'Tensor: expected numbers or strings with + and == of JavaScript, got a Tensor: write a.add(b) for a + b, a.eq(b) for ' +
    'a == b, t.item() for the number of a tensor with one element, String(t) for text',
};

function toPrimitive(this: Tensor, hint: string): string {
  if (!isTensor(this)) throw notThis('[Symbol.toPrimitive]', this);
  if (hint === 'string') return this.toString();
  throw codedError(TypeError, 'ERR_TORCH_OPERATOR', hint === 'number' ? instead.number : instead.default);
}

/** Replacements for Python's names. */
const insteadOfPython: Record<string, string> = {
  itemsize: 'Tensor has no itemsize; use t.elementSize()',
  numpy: 'Tensor has no numpy; use t.toTypedArray(), or t.toArray() for nested arrays',
};

/** Replacements for writing a read-only property. */
const insteadOfWriting: Record<string, string> = {
  shape: 't.reshape(sizes)',
  dtype: 't.to(dtype)',
  device: 't.to(device)',
  isLeaf: 't.detach()',
};

/** Makes writes to read-only properties throw. Sloppy mode would ignore them. */
function refuseWriting(): void {
  for (const name of Object.getOwnPropertyNames(Tensor.prototype)) {
    const property = Object.getOwnPropertyDescriptor(Tensor.prototype, name)!;
    if (property.get === undefined || property.set !== undefined) continue;
    const write = Object.hasOwn(insteadOfWriting, name) ? `; use ${insteadOfWriting[name]} instead` : '';
    const set = () => {
      throw codedError(TypeError, 'ERR_TORCH_NAME', `Tensor.${name} is read-only${write}`);
    };
    Object.defineProperty(Tensor.prototype, name, { ...property, set });
  }
}

/** What to write instead of an assignment. */
const assigned = {
  data: 'torch.noGrad(() => t.copy_(x))',
  real: 't.real().copy_(x)',
  imag: 't.imag().copy_(x)',
} satisfies Record<(typeof assignedInPython)[number], string>;

/** Makes assignments to these methods throw. Otherwise an assignment would hide the method and not change the tensor. */
function refuseAssigning(): void {
  for (const [name, write] of Object.entries(assigned)) {
    const property = Object.getOwnPropertyDescriptor(Tensor.prototype, name)!;
    let method = property.value as unknown;
    Object.defineProperty(Tensor.prototype, name, {
      get: () => method,
      set(this: unknown, value: unknown) {
        if (isTensor(this))
          throw codedError(
            TypeError,
            'ERR_TORCH_NAME',
            `Tensor.${name} is a method: expected a call, got an assignment; use ${write}`,
          );
        if (this === Tensor.prototype) method = value;
        else Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      },
      enumerable: property.enumerable!,
      configurable: true,
    });
  }
}

const elementHint = ofElements((name) => `Tensor: t[${name}] is not an element: write t.at(${name})`);

/** Called once, after all methods are defined. */
export function refuseOperators(): void {
  Object.defineProperty(Tensor.prototype, Symbol.toPrimitive, {
    value: toPrimitive,
    writable: true,
    configurable: true,
  });
  refuseWriting();
  refuseAssigning();
  reportMissingNames('Tensor', Tensor.prototype, {
    read: (name) => (isIndex(name) ? elementHint(name) : own(name)),
    write: (name) => {
      return isIndex(name) ? `Tensor: t[${name}] = value writes nothing: write t.set([${name}], value)` : undefined;
    },
  });
}

const own = (name: string): string | undefined =>
  Object.hasOwn(insteadOfPython, name) ? insteadOfPython[name] : undefined;
