/**
 * A plugin of typedoc: each guide has its heading as its title, and stands in a group of the menu, in the order of
 * site-pages.mjs. Without it, the menu shows the names of files in one list, and the output of programs is coloured.
 */
import { Converter } from 'typedoc';
import { pages } from './site-pages.mjs';

/** Orders documents that typedoc would sort by name. */
const place = (name) => pages.findIndex((page) => page.name === name);

/** Typedoc takes a block without a language for TypeScript. @param {import('typedoc').CommentDisplayPart[] | undefined} parts */
function withoutColours(parts) {
  for (const part of parts ?? []) {
    if (part.kind === 'code') part.text = part.text.replace(/^(\s*```)\n/, '$1text\n');
  }
}

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => withoutColours(project.readme));
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = document.name.replace(/^.*\//, '');
    const { group } = pages[place(file)] ?? {};
    if (group === undefined) throw new Error(`docs/${file}.md is not in scripts/steps/site-pages.mjs`);
    const text = document.content.map((part) => part.text).join('');
    document.name = /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? file;
    // The page begins with the title.
    const first = document.content[0];
    if (first?.kind === 'text') first.text = first.text.replace(/^# .*\n+/, '');
    withoutColours(document.content);
    document.frontmatter.group = group;
  });
}
