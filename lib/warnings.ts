/** libtorch's warnings as Node's: `process.on('warning')` sees them, `--no-warnings` silences them. */
import type { Native } from './native';

/** As Python's default filter: the same text once. Bounded, since texts may hold figures. */
const MOST_TEXTS = 1000;
const seen = new Set<string>();

export function passOnWarnings(native: Native): void {
  native.setWarningSink((text) => {
    if (seen.has(text) || seen.size >= MOST_TEXTS) return;
    seen.add(text);
    process.emitWarning(text, 'TorchWarning');
  });
}
