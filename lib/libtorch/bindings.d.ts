import type { Runtime } from './find';

/** The contents of binding.json: what the addon beside it was built for. */
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
  /** Why it is not trusted: other users could have put it there. Nothing of it was read. */
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
/** Creates that folder. `real`: its path without links. `problem`: why other users could write there, or null. */
export function makeCachedBindings(env?: NodeJS.ProcessEnv): { real: string; problem: string | null };
export function packageVersion(): string;
/** What builds the addon, as messages say it; `checkout`: there, instead of here. */
export function buildCommand(options?: { checkout?: boolean; force?: boolean }): string;
export const isBundled: boolean;
export const isCheckout: boolean;
export const packageRoot: string;
/** Folder of the package's prebuilt bindings for this platform. */
export const prebuilds: string;
export const platform: string;
export const addonName: string;
/** The second addon, for torch.distributed, in the same folder. */
export const distributedName: string;
export const infoName: string;
