import type { Runtime } from './find';

/** What binding.json says: what the addon beside it was built for. */
export interface BindingInfo {
  format: 1;
  package: string;
  platform: string;
  arch: string;
  libtorch: Pick<Runtime, 'version' | 'abi' | 'cuda' | 'sonames'>;
}

/** An addon and the generated JavaScript that belongs to it. */
export interface Binding {
  from: 'LIBTORCH_NODE_ADDON' | 'checkout' | 'prebuilt' | 'cache';
  addon: string;
  generated: string;
  /** null for an addon without binding.json. */
  info: BindingInfo | null;
  /** Why nothing of it was read: others could have put it there. */
  refused: string | null;
}

export function candidates(env?: NodeJS.ProcessEnv): Binding[];
export function whyNot(binding: Binding, libtorch: Runtime): string | null;
export function describe(libtorch: BindingInfo['libtorch']): string;
export function bindingName(libtorch: BindingInfo['libtorch']): string;
export function bindingInfo(libtorch: BindingInfo['libtorch']): BindingInfo;
export function readInfo(folder: string): BindingInfo | null;
export function cacheFolder(env?: NodeJS.ProcessEnv): string;
export function cachedBindings(env?: NodeJS.ProcessEnv): string;
/** Makes that folder: the path without links that is to be used, and why others could put something there, or null. */
export function makeCachedBindings(env?: NodeJS.ProcessEnv): { real: string; problem: string | null };
export function packageVersion(): string;
export const packageRoot: string;
/** Folder of the bindings that the package brings for this platform. */
export const prebuilds: string;
export const platform: string;
export const addonName: string;
export const infoName: string;
