/** The report as JSON. */

import { jsonText } from '../printable';
import type { Report } from '../report';

export const renderJson = (report: Report): string => `${jsonText(report, 2)}\n`;
