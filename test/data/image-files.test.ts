/** Which files an ImageFolder lists. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { torch } from '../support/torch';

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'images-')));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const write = (file: string) => {
  fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
  fs.writeFileSync(path.join(folder, file), '');
};
const link = (to: string, file: string) => fs.symlinkSync(to, path.join(folder, file));

test('links to folders and files count as what they lead to; a folder is not an image', () => {
  for (const file of ['root/a/1.png', 'root/a/text.txt', 'other/2.JPG', 'other/deep/3.png']) write(file);
  fs.mkdirSync(path.join(folder, 'root/a/folder.png'));
  write('root/note.png');
  link('../other', 'root/b');
  link('../../other/deep', 'root/a/more');
  link('../../other/2.JPG', 'root/a/4.jpg');
  link('.', 'other/around'); // a circle
  link('nowhere', 'root/dangling');
  link('itself', 'root/itself');
  const { classes, files, labels } = new torch.utils.data.ImageFolder(path.join(folder, 'root'));
  expect(classes).toEqual(['a', 'b']);
  expect(files.map((file) => path.relative(folder, file))).toEqual([
    'root/a/1.png',
    'root/a/4.jpg',
    'root/a/more/3.png',
    'root/b/2.JPG',
    'root/b/deep/3.png',
  ]);
  expect(labels).toEqual([0, 0, 0, 1, 1]);
});
