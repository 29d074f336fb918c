/** Frames of libraries, which are hidden from stacks: what the program itself called matters more. */
import * as path from 'node:path';
import type { Frame } from '../capture/records';

/** This package in a checkout, where it is not below node_modules. */
const OWN = [path.resolve(__dirname, '../../lib'), path.resolve(__dirname, '../../../lib')];

const isLibrary = ({ file }: Frame) =>
  /[\\/]node_modules[\\/]/.test(file) || OWN.some((folder) => file.startsWith(folder + path.sep));

/** Without them, but always with the frame that made the tensor. */
export function withoutLibraries(stack: readonly Frame[]): { frames: Frame[]; hidden: number } {
  const frames = stack.filter((frame, i) => i === 0 || !isLibrary(frame));
  return { frames, hidden: stack.length - frames.length };
}
