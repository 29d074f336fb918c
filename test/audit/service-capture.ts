/** A capture like that of a service, for tests of reports and exports. */
import { CaptureBuilder } from './capture-builder';

/**
 * A service: `classify` (reached from two routes) leaks, `put` fills a cache, `load` holds weights, `step` makes garbage
 * in a sawtooth, and libtorch itself holds memory without tensors.
 */
export function serviceCapture(rounds = 96): CaptureBuilder {
  const main: [string, number, number, string] = ['/srv/shop/src/main.ts', 12, 3, 'main'];
  const builder = new CaptureBuilder({ command: 'node /srv/shop/dist/main.js', startedAt: 1_700_000_000_000 })
    .site(1, ['/srv/shop/src/classify.ts', 42, 14, 'classify'], ['/srv/shop/src/routes.ts', 7, 5, 'postImage'], main)
    .site(2, ['/srv/shop/src/classify.ts', 42, 14, 'classify'], ['/srv/shop/src/routes.ts', 19, 5, 'postBatch'], main)
    .site(3, ['/srv/shop/src/cache.ts', 8, 22, 'put'], ['/srv/shop/src/routes.ts', 9, 11, 'postImage'], main)
    .site(4, ['/srv/shop/src/model.ts', 3, 10, 'load'], main)
    .site(5, ['/srv/shop/src/train, "fast".ts', 77, 9, 'step;now'], main);
  for (let i = 1; i <= rounds; i++) {
    const filled = Math.min(i, 24);
    const saw = 4 + (i % 12);
    const rows = [
      { site: 1, liveTensors: 2 * i, liveBytes: i * 65_536, allocatedTensors: 40 * i, allocatedBytes: i * 1_310_720 },
      { site: 2, liveTensors: i, liveBytes: i * 32_768, allocatedTensors: 2 * i, allocatedBytes: i * 65_536 },
      { site: 3, liveTensors: filled, liveBytes: filled * 98_304, allocatedTensors: filled },
      { site: 4, liveTensors: 12, liveBytes: 3_000_000, oldestBirthMs: 20 },
      {
        site: 5,
        liveTensors: saw,
        liveBytes: saw * 131_072,
        allocatedTensors: 60 * i,
        allocatedBytes: i * 2_000_000,
        oldestBirthMs: Math.max(0, i * 250 - 3000),
      },
    ];
    const bytes = rows.reduce((sum, row) => sum + row.liveBytes, 0);
    builder.tick({ ms: i * 250, allocatedBytes: bytes + 1_500_000 + i * 2000 }, rows);
  }
  return builder.end();
}
