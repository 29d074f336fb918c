'use strict';
/** The files that this process has mapped into its memory: libraries and addons. */
const fs = require('node:fs');

/**
 * Their paths, as they were when the files were mapped; null where the system does not list them (no /proc).
 * @returns {readonly string[] | null}
 */
function mappedFiles() {
  let maps;
  try {
    maps = fs.readFileSync('/proc/self/maps', 'utf8');
  } catch {
    return null;
  }
  // `address permissions offset device inode   path`. Only the path has slashes, and it may have spaces; a line end in it is \012.
  const paths = [...maps.matchAll(/^[^/\n]*(\/.*)$/gm)].map(([, file]) => file.replaceAll('\\012', '\n'));
  return [...new Set(paths)];
}

module.exports = { mappedFiles };
