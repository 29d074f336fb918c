/**
 * A plugin of typedoc: each guide has its heading as its title, and stands in a group of the menu, in the order of
 * site-pages.mjs. Without it, the menu shows the names of files in one list.
 */
import { Converter } from 'typedoc';
import { pages } from './site-pages.mjs';

/** Orders documents that typedoc would sort by name. */
const place = (name) => pages.findIndex((page) => page.name === name);

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = document.name.replace(/^.*\//, '');
    const { group } = pages[place(file)] ?? {};
    if (group === undefined) throw new Error(`docs/${file}.md is not in scripts/steps/site-pages.mjs`);
    const text = document.content.map((part) => part.text).join('');
    document.name = /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? file;
    // The page begins with the title.
    const first = document.content[0];
    if (first?.kind === 'text') first.text = first.text.replace(/^# .*\n+/, '');
    document.frontmatter.group = group;
  });
}
