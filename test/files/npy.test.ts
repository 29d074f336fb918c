/** torch.npy and torch.npz against NumPy, both ways. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-npy-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => path.join(folder, name);

async function numpy(script: string): Promise<void> {
  const { code, stderr } = await run('/usr/bin/python3', ['-c', `import numpy as np, sys\n${script}`, folder], {
    env: ordinaryEnv(),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

const DTYPES = 'bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128'.split(' ');

test('files of NumPy: dtypes, byte orders, Fortran order, zero dimensions, empty, compressed', async () => {
  await numpy(`
d = sys.argv[1] + '/'
a = np.array([[0, 1, 2], [3, 4, 5]])
for name in ${JSON.stringify(DTYPES)}: np.save(d + name, a.astype(name))
np.save(d + 'big', a.astype('>f4')); np.save(d + 'bigc', (a * (1 + 2j)).astype('>c16')); np.save(d + 'columns', np.asfortranarray(a.astype('f4').reshape(1, 2, 3)))
np.save(d + 'scalar', np.float64(2.5)); np.save(d + 'empty', np.zeros((0, 3), 'f4')); np.save(d + 'one', np.array([7], 'i8'))
np.savez(d + 'plain.npz', a=a, b=a.astype('f4').T); np.savez_compressed(d + 'packed.npz', a=np.zeros((100, 100)), b=a)
np.save(d + 'objects', np.array([{}], dtype=object)); np.save(d + 'texts', np.array(['a'])); np.save(d + 'records', np.zeros(2, dtype=[('x', 'f4')]))
`);
  balanced(() =>
    torch.scope(() => {
      for (const dtype of DTYPES) {
        for (const source of [at(`${dtype}.npy`), readFileSync(at(`${dtype}.npy`))]) {
          const t = torch.npy.load(source);
          expect([t.dtype, t.shape]).toEqual([dtype, [2, 3]]);
          const real = dtype.startsWith('complex') ? untyped.real(t) : t;
          const expected =
            dtype === 'bool'
              ? [
                  [0, 1, 1],
                  [1, 1, 1],
                ]
              : [
                  [0, 1, 2],
                  [3, 4, 5],
                ];
          expect(real.to('float64').toArray()).toEqual(expected);
        }
      }
      expect(torch.npy.load(at('big.npy')).toArray()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
      expect(torch.npy.load(at('bigc.npy')).at(1, 2).item()).toEqual(new torch.Complex(5, 10));
      expect(torch.npy.load(at('columns.npy')).toArray()).toEqual([
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ]);
      expect(torch.npy.load(at('scalar.npy')).item()).toBe(2.5);
      expect(torch.npy.load(at('empty.npy')).shape).toEqual([0, 3]);
      expect(torch.npy.load(at('one.npy')).toArray()).toEqual([7]);
      const plain = torch.npz.load(at('plain.npz'));
      expect(plain.b!.toArray()).toEqual([
        [0, 3],
        [1, 4],
        [2, 5],
      ]);
      const packed = torch.npz.load(readFileSync(at('packed.npz')));
      expect([Object.keys(packed), packed.a!.shape]).toEqual([
        ['a', 'b'],
        [100, 100],
      ]);
      for (const name of ['objects', 'texts', 'records']) {
        expect([name, codeOf(() => torch.npy.load(at(`${name}.npy`)))]).toEqual([name, 'ERR_TORCH_FILE']);
      }
    }),
  );
});

test('NumPy reads our files, and the bytes are NumPy’s', async () => {
  torch.scope(() => {
    const a = torch.arange(6, { dtype: 'float32' }).view([2, 3]);
    torch.npy.save(at('here.npy'), a.t());
    torch.npy.save(at('vector.npy'), torch.tensor([1n, 2n]));
    torch.npy.save(at('number.npy'), torch.tensor(true));
    torch.npz.save(at('here.npz'), { a, 'b c': a.to('complex64').mul(new torch.Complex(0, 1)).conj() });
    expect(torch.npy.load(torch.npy.serialize(a)).toArray()).toEqual(a.toArray());
  });
  await numpy(`
import io
d = sys.argv[1] + '/'
a = np.arange(6, dtype='f4').reshape(2, 3)
t = np.load(d + 'here.npy')
assert t.dtype == np.float32 and t.tolist() == a.T.tolist()
def same(name, array):
    out = io.BytesIO(); np.save(out, np.ascontiguousarray(array)); assert out.getvalue() == open(d + name, 'rb').read(), name
same('here.npy', a.T); same('vector.npy', np.array([1, 2]))
assert np.load(d + 'number.npy').tolist() is True and np.load(d + 'number.npy').shape == ()
z = np.load(d + 'here.npz')
assert z['a'].tolist() == a.tolist() and z['b c'].tolist() == (a * -1j).tolist()
`);
});

test('refused files', () => {
  balanced(() => {
    const good = torch.scope(() => torch.npy.serialize(torch.ones([2, 3])));
    const text = good.toString('latin1');
    const cases: [Buffer, RegExp][] = [
      [Buffer.alloc(0), /does not begin/],
      [Buffer.from('PK\x03\x04 and so on'), /does not begin/],
      [good.subarray(0, 60), /truncated/],
      [good.subarray(0, good.length - 1), /takes 24 bytes, the file has 23/],
      [Buffer.concat([good, good]), /takes 24 bytes/],
      [Buffer.from(text.replace('\x93NUMPY\x01', '\x93NUMPY\x09'), 'latin1'), /version 9/],
      [Buffer.from(text.replace("'<f4'", "'<f3'"), 'latin1'), /dtype '<f3'/],
      [Buffer.from(text.replace("'<f4'", "'|O'").replace('), }', '), } '), 'latin1'), /dtype '\|O'/],
      [Buffer.from(text.replace('(2, 3)', '(2,-3)'), 'latin1'), /does not describe one array/],
      [Buffer.from(text.replace('{', ' '), 'latin1'), /does not describe one array/],
      [Buffer.from(text.replace('False', '1+1=2'), 'latin1'), /does not describe one array/],
    ];
    for (const [bytes, message] of cases) {
      const error = thrown(() => torch.npy.load(bytes));
      expect([error.code, error.message]).toEqual(['ERR_TORCH_FILE', expect.stringMatching(message)]);
    }
    expect(codeOf(() => torch.npz.load(good))).toBe('ERR_TORCH_FILE');
    for (const wrong of [5, null, new Float32Array(3)]) {
      expect(codeOf(() => untyped.npy.load(wrong))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => untyped.npz.save(at('x'), wrong === null ? wrong : { a: wrong }))).toBe('ERR_TORCH_ARGUMENT');
    }
    torch.scope(() => {
      expect(codeOf(() => torch.npy.serialize(torch.ones([1], { dtype: 'bfloat16' })))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => torch.npy.serialize(torch.eye(2).toSparse()))).toBe('ERR_TORCH_ARGUMENT');
    });
  });
});
