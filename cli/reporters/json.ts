/** The report as JSON. */

import type { Report } from '../analysis/report';
import { jsonText } from '../terminal/printable';

export const renderJson = (report: Report): string => `${jsonText(report, 2)}\n`;
