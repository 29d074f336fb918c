/** The sites at which scopes were opened, of those that outlived a round. */
import { IdMap } from './id-map';

/** Most have ended: the newest are kept. */
const MAX_OPENINGS = 65_536;
const U32 = 2 ** 32;

export class Openings {
  /** By thread and number of the scope. */
  private sites = new IdMap<number>();
  private before = new IdMap<number>();

  add(environment: number, scope: number, siteId: number): void {
    if (this.sites.size >= MAX_OPENINGS) {
      this.before = this.sites;
      this.sites = new IdMap();
    }
    this.sites.set(environment * U32 + scope, siteId);
  }

  /** Undefined if unknown. */
  siteOf(environment: number, scope: number): number | undefined {
    const key = environment * U32 + scope;
    return this.sites.get(key) ?? this.before.get(key);
  }
}
