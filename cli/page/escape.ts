/** Text and data inside HTML. */

import { jsonText, printable } from '../terminal/printable';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string =>
  printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** Escapes a path and allows line breaks after slashes. */
export const escapePath = (text: string): string => escapeHtml(text).replaceAll('/', '/<wbr>');

/** JSON for a script element, which it cannot end. */
export const embeddedJson = (value: unknown): string => jsonText(value).replaceAll('<', '\\u003c');
