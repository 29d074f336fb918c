/** Text and data inside HTML. */

import { jsonText, printable } from '../printable';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string =>
  printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** The same, for a path: a line ends after a slash rather than within a name. */
export const escapePath = (text: string): string => escapeHtml(text).replaceAll('/', '/<wbr>');

/** JSON for a script element: nothing in it can end the element. */
export const embeddedJson = (value: unknown): string => jsonText(value).replaceAll('<', '\\u003c');
