/** A real browser for pages: Debian's Chromium, controlled by Playwright. */
import { existsSync, mkdirSync } from 'node:fs';
import * as path from 'node:path';
import { withRealLibraries } from '../support/real-libraries';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from './command';

/** The used part of Playwright. Its own declarations need those of the DOM, which the library must not see. */
export interface Locator {
  getByRole(role: string, options?: { name?: string | RegExp }): Locator;
  locator(selector: string): Locator;
  first(): Locator;
  last(): Locator;
  count(): Promise<number>;
  textContent(): Promise<string | null>;
  allTextContents(): Promise<string[]>;
  getAttribute(name: string): Promise<string | null>;
  isVisible(): Promise<boolean>;
  focus(): Promise<void>;
  press(key: string): Promise<void>;
  check(): Promise<void>;
  fill(text: string): Promise<void>;
}

export interface Page extends Pick<Locator, 'getByRole' | 'locator'> {
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'console', listener: (message: { text(): string }) => void): void;
  on(event: 'dialog', listener: (dialog: { message(): string; dismiss(): Promise<void> }) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  keyboard: { press(key: string): Promise<void> };
  mouse: { move(x: number, y: number): Promise<void>; down(): Promise<void>; up(): Promise<void> };
  setDefaultTimeout(ms: number): void;
  /** Runs in the page before its own scripts, whatever its policy. */
  addInitScript(script: string): Promise<unknown>;
  goto(url: string): Promise<unknown>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  waitForFunction(expression: string): Promise<unknown>;
  screenshot(options: { path: string; fullPage?: boolean }): Promise<unknown>;
  context(): { newCDPSession(page: Page): Promise<{ send(method: string): Promise<{ nodes: AccessibleNode[] }> }> };
  close(): Promise<void>;
}

interface AccessibleNode {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
}

export interface Browser {
  newPage(options: { viewport: { width: number; height: number }; colorScheme?: 'light' | 'dark' }): Promise<Page>;
  close(): Promise<void>;
}

const { chromium } = require('playwright-core') as { chromium: { launch(options: object): Promise<Browser> } };

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** Screenshots, kept after the tests for inspection. */
export const ARTEFACTS = path.join(ROOT, 'build', 'artefacts');

/** Takes a screenshot to look at. A busy machine may be too slow for Chromium's capture, which then fails: it is taken again. */
export async function picture(page: Page, name: string, whole = true): Promise<void> {
  for (let left = 4; ; left--) {
    try {
      await page.screenshot({ path: path.join(ARTEFACTS, `${name}.png`), fullPage: whole });
      return;
    } catch (error) {
      if (left === 0 || !String(error).includes('Unable to capture screenshot')) throw error;
    }
  }
}

export function launch(): Promise<Browser> {
  mkdirSync(ARTEFACTS, { recursive: true });
  const executablePath = process.env.LTN_CHROMIUM ?? PROGRAMS.find((file) => existsSync(file));
  if (executablePath === undefined) throw new Error(`no Chromium at ${PROGRAMS.join(', ')}: npm run setup -- --tests`);
  return chromium.launch({
    executablePath,
    env: withRealLibraries(ordinaryEnv()),
    // CI containers have a small /dev/shm, and the sandbox does not work as root.
    args: ['--disable-dev-shm-usage', '--no-sandbox'],
    timeout: limitMs(60_000),
  });
}

export interface Opened {
  page: Page;
  /** Collects forbidden actions of a page: errors, messages, dialogs, and requests for other resources. */
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
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))",
  );
  await page.goto(url);
  return { page, complaints };
}

/** The accessible names of focusable elements; '' for elements without a name. */
export async function focusableNames(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  return nodes
    .filter((node) => !node.ignored && node.role?.value !== 'RootWebArea')
    .filter((node) => node.properties?.some(({ name, value }) => name === 'focusable' && value.value === true))
    .map((node) => String(node.name?.value ?? ''));
}
