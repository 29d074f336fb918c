/** The compiler's table of type promotion is libtorch's: every pair of dtypes. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT, untyped } from '../support/torch';

test('types/algebra/promotion.d.ts agrees with torch.promoteTypes', () => {
  const text = fs.readFileSync(path.join(ROOT, 'types/algebra/promotion.d.ts'), 'utf8');
  const wrong: string[] = [];
  let compared = 0;
  for (const [, row, body] of text.matchAll(/^ {2}(\w+): \{\n([^}]*)\}/gm)) {
    for (const [, column, result] of body!.matchAll(/^ {4}(\w+): '(\w+)';$/gm)) {
      compared++;
      const real = untyped.promoteTypes(row, column);
      if (real !== result) wrong.push(`${row}, ${column}: ${result}, but libtorch says ${real}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThanOrEqual(13 * 13);
});
