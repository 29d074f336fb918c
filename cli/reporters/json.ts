/** The contract's JSON. */
import type { Report } from '../report';

export const renderJson = (report: Report): string => `${JSON.stringify(report, null, 2)}\n`;
