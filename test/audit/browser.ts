/** A real browser for pages: Debian's Chromium, steered by Playwright. */
import { existsSync, mkdirSync } from 'node:fs';
import * as path from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from './command';

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** Kept after the tests: for people to look at. */
export const ARTEFACTS = path.join(ROOT, 'build', 'artefacts');

export function launch(): Promise<Browser> {
  mkdirSync(ARTEFACTS, { recursive: true });
  const executablePath = process.env.LTN_CHROMIUM ?? PROGRAMS.find((file) => existsSync(file));
  if (executablePath === undefined) throw new Error(`no Chromium at ${PROGRAMS.join(', ')}: npm run setup -- --tests`);
  const env = Object.fromEntries(Object.entries(ordinaryEnv()).filter((entry) => entry[1] !== undefined));
  return chromium.launch({
    executablePath,
    env: env as Record<string, string>,
    // Containers of CI have a small /dev/shm, and root no sandbox.
    args: ['--disable-dev-shm-usage', '--no-sandbox'],
    timeout: limitMs(60_000),
  });
}

export interface Opened {
  page: Page;
  /** All that a page should not do: errors, messages, dialogs, and requests for anything but itself. */
  complaints: string[];
}

export async function open(
  browser: Browser,
  file: string,
  options: { colorScheme?: 'light' | 'dark'; width?: number } = {},
): Promise<Opened> {
  const { colorScheme = 'light', width = 1240 } = options;
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  page.setDefaultTimeout(limitMs(60_000));
  const complaints: string[] = [];
  const url = `file://${file}`;
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== url) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints };
}

/** Names of what can be focused, as the browser tells them to a screen reader; '' for what has none. */
export async function focusableNames(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  return nodes
    .filter((node) => !node.ignored && node.role?.value !== 'RootWebArea')
    .filter((node) => node.properties?.some(({ name, value }) => name === 'focusable' && value.value === true))
    .map((node) => String(node.name?.value ?? ''));
}
