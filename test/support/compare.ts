/** The same calls here and in PyTorch: values, dtypes and shapes must agree, and calls that fail there must fail here. */
import { type Answer, type PythonTensor, python } from './python';
import { pythonDiffers, refusedByNow } from './release';
import { counts, settled, torch, untyped } from './torch';

/** JavaScript and Python, both as expressions over the inputs. */
export type Call = readonly [js: string, py: string];

const flat = (tensor: any): unknown[] => {
  const data = tensor.toArray();
  return Array.isArray(data) ? data.flat(Infinity) : [data];
};

/** Whether two numbers agree; integers and booleans exactly. */
function near(got: any, expected: any, dtype: string): boolean {
  if (typeof expected === 'object' && expected !== null)
    return near(got.re, expected.re, dtype) && near(got.im, expected.im, dtype);
  if (typeof expected === 'string') return String(got).replace('Infinity', 'inf').toLowerCase() === expected;
  if (typeof expected !== 'number' || /int|bool/.test(dtype)) return got === expected || Number(got) === expected;
  const tolerance = dtype === 'float64' ? 1e-12 : dtype === 'float16' || dtype === 'bfloat16' ? 1e-2 : 1e-5;
  return Math.abs(got - expected) <= tolerance * Math.max(1, Math.abs(expected));
}

function difference(got: any, expected: any): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(got) || got.length !== expected.length) return `${got?.length} results`;
    return expected.map((item, i) => difference(got[i], item)).find((text) => text !== undefined);
  }
  if (!(got instanceof torch.Tensor)) return got === expected ? undefined : `${got} is not ${expected}`;
  const { dtype, shape, data } = expected as PythonTensor;
  if (got.dtype !== dtype || got.shape.join() !== shape.join())
    return `${got.dtype}[${got.shape}] is not ${dtype}[${shape}]`;
  const values = flat(got.layout === 'strided' ? got : got.toDense());
  const wrong = data.findIndex((value, i) => !near(values[i], value, dtype));
  return wrong < 0 ? undefined : `element ${wrong}: ${values[wrong]} is not ${JSON.stringify(data[wrong])}`;
}

/** Tensors in a result, each once. */
function tensorsIn(value: unknown, found = new Set<unknown>()): Set<unknown> {
  if (value instanceof torch.Tensor) found.add(value);
  else if (Array.isArray(value)) for (const element of value) tensorsIn(element, found);
  return found;
}

/** One call on plain arguments, in which only the function makes tensors. */
const isOneCall = (js: string) => /^(torch\.)?(\w+\.)?\w+\([^()]*\)$/.test(js);

export interface Outcome {
  wrong: string[];
  /** calls that fail on both sides, except those that only a newer libtorch refuses (release.ts) */
  failed: string[];
  /** calls whose tensors were counted: exactly as many as in the result */
  counted: number;
}

/**
 * Runs all calls. `inputs` are tensors that both sides have: by name in the calls. `helpers` are more names for the
 * JavaScript side; those of the Python side are in oracle.py.
 */
export async function compare(
  inputs: Record<string, Call>,
  calls: readonly Call[],
  helpers: Record<string, unknown> = {},
): Promise<Outcome> {
  const names = Object.keys(inputs);
  const bind = `[(${names.map((name) => inputs[name]![1]).join('), (')})]`;
  const answers: Answer[] = await python(calls.map(([, py]) => `(lambda ${names.join(', ')}: ${py})(*${bind})`));
  const outcome: Outcome = { wrong: [], failed: [], counted: 0 };
  const more = Object.keys(helpers);
  const make = new Function('torch', `return [${names.map((name) => inputs[name]![0]).join(', ')}]`);
  const counted = settled();
  calls.forEach(([js, py], n) => {
    const run = new Function('torch', 'F', ...more, ...names, `return ${js}`);
    const found: string[] = [];
    let both = false;
    const wrong = (text: string) => found.push(`${js} | ${py}: ${text}`);
    torch.scope(() => {
      const made: unknown[] = make(untyped);
      let got: unknown;
      let error: any;
      const before = torch.memory().tensors;
      try {
        got = run(untyped, untyped.nn.functional, ...Object.values(helpers), ...made);
      } catch (caught) {
        error = caught;
      }
      const answer = answers[n]!;
      if (answer.error !== undefined || error !== undefined) {
        if (answer.error !== undefined && error !== undefined) both = true;
        const coded = String(error?.code).startsWith('ERR_TORCH_');
        if (answer.error === undefined || !coded)
          wrong(`${error ?? 'a result'}, in Python ${answer.error ?? 'a result'}`);
        return;
      }
      if (isOneCall(js)) {
        outcome.counted++;
        const results = [...tensorsIn(got)].filter((tensor) => !made.includes(tensor)).length;
        const left = torch.memory().tensors - before - results;
        if (left !== 0) wrong(`${left} tensors left besides ${results} results`);
      }
      const text = difference(got, answer.value);
      if (text !== undefined) wrong(text);
    });
    // Each call leaves the counts as they were, so one wait for garbage, before the first, is enough.
    expect({ js, ...counts() }).toEqual({ js, ...counted });
    if (refusedByNow.includes(js) && !both) outcome.wrong.push(`${js}: is said to fail with this libtorch`);
    if (both && !refusedByNow.includes(js)) outcome.failed.push(js);
    if (pythonDiffers[js] === undefined) outcome.wrong.push(...found);
    else if (found.length === 0) outcome.wrong.push(`${js}: agrees, and is said to differ: ${pythonDiffers[js]}`);
  });
  return outcome;
}

/** "F.maxPool2d(x, 2, { ceilMode: true })" in Python: names in snake case, options as keyword arguments. */
export function toPython(js: string): string {
  const parts = js.split(/("[^"]*")/);
  return parts
    .map((part, i) => {
      if (i % 2 === 1) return /(dtype|Dtype): $|\.to\($/.test(parts[i - 1]!) ? `torch.${part.slice(1, -1)}` : part;
      return part
        .replace(/\(([\w, ]*)\) => /g, (_, list: string) => `lambda ${list}: `)
        .replace(/[{}]/g, '')
        .replace(/(\w+): /g, (whole, name: string, at: number, text: string) =>
          /lambda[\w, ]*$/.test(text.slice(0, at)) ? whole : `${name}=`,
        )
        .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
        .replace(/\b[a-z_]\w*/gi, (name) => (/^(F|A|None|True|False)$/.test(name) ? name : name.toLowerCase()))
        .replace(/\btrue\b/g, 'True')
        .replace(/\bfalse\b/g, 'False')
        .replace(/\b(null|undefined)\b/g, 'None')
        .replace(/\binfinity\b/g, 'math.inf')
        .replace(/(\d)n\b/g, '$1');
    })
    .join('')
    .replace(/,\s*\)/g, ')');
}
