/** The rules, in the order in which they are asked; the first answer counts. Without one, the series is steady. */
import { cache } from './cache';
import { Evidence } from './evidence';
import { garbage } from './garbage';
import { leak } from './leak';
import { slowing } from './slowing';
import { freed, steady } from './steady';
import { tooShort } from './too-short';
import type { Judgement, RuleOptions, SiteHistory } from './verdict';

/** Undefined if the rule does not apply to the series. */
type Rule = (evidence: Evidence) => Judgement | undefined;

const RULES: Rule[] = [tooShort, freed, garbage, slowing, leak, cache];

/** The verdict on a series. docs/verdicts.md describes the method and its error rates. */
export function judge(history: SiteHistory, options: RuleOptions = {}): Judgement {
  const evidence = new Evidence(history, options, judge);
  for (const rule of RULES) {
    const judgement = rule(evidence);
    if (judgement !== undefined) return judgement;
  }
  return steady(evidence);
}
