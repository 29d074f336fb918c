/** The sites at which scopes were opened, of those that outlived a round. */
import { IdMap } from './id-map';
import type { Budget } from './limits';

/** Most have ended: the newest are kept. */
const MAX_OPENINGS = 65_536;
const U32 = 2 ** 32;

export class Openings {
  /** By thread and number of the scope. */
  private sites = new IdMap<number>();
  private before = new IdMap<number>();
  private peak = 0;

  constructor(private readonly budget: Budget) {}

  /** @throws {InvalidData} if the processes of the file have too many together */
  add(environment: number, scope: number, siteId: number): void {
    if (this.sites.size >= MAX_OPENINGS) {
      this.before = this.sites;
      this.sites = new IdMap();
    }
    this.sites.set(environment * U32 + scope, siteId);
    const kept = this.sites.size + this.before.size;
    if (kept > this.peak) {
      this.budget.take('opened scopes', kept - this.peak);
      this.peak = kept;
    }
  }

  /** Undefined if unknown. */
  siteOf(environment: number, scope: number): number | undefined {
    const key = environment * U32 + scope;
    return this.sites.get(key) ?? this.before.get(key);
  }
}
