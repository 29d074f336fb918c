/** Padding. */
import type { Tensor } from '../tensor/tensor';
import { float, ints } from './arguments';
import { layer } from './layer';
import { F } from './ops';

type Size = number | number[];

const constantPad = (dims: number) =>
  layer<[padding: Size, value: number]>()(
    `ConstantPad${dims}d`,
    { padding: ints(2 * dims), value: float() },
    {
      forward(input) {
        return F.pad(input, this.padding, 'constant', this.value);
      },
      extra: 'padding={padding}, value={value}',
    },
  );

const pad = (name: string, dims: number, mode: string) =>
  layer<[padding: Size]>()(
    `${name}${dims}d`,
    { padding: ints(2 * dims) },
    {
      forward(input: Tensor): Tensor {
        return mode === 'constant' ? F.pad(input, this.padding, mode, 0) : F.pad(input, this.padding, mode);
      },
      extra: '{padding}',
    },
  );

export const ConstantPad1d = constantPad(1);
export type ConstantPad1d = InstanceType<typeof ConstantPad1d>;
export const ConstantPad2d = constantPad(2);
export type ConstantPad2d = InstanceType<typeof ConstantPad2d>;
export const ConstantPad3d = constantPad(3);
export type ConstantPad3d = InstanceType<typeof ConstantPad3d>;
export const ReflectionPad1d = pad('ReflectionPad', 1, 'reflect');
export type ReflectionPad1d = InstanceType<typeof ReflectionPad1d>;
export const ReflectionPad2d = pad('ReflectionPad', 2, 'reflect');
export type ReflectionPad2d = InstanceType<typeof ReflectionPad2d>;
export const ReflectionPad3d = pad('ReflectionPad', 3, 'reflect');
export type ReflectionPad3d = InstanceType<typeof ReflectionPad3d>;
export const ReplicationPad1d = pad('ReplicationPad', 1, 'replicate');
export type ReplicationPad1d = InstanceType<typeof ReplicationPad1d>;
export const ReplicationPad2d = pad('ReplicationPad', 2, 'replicate');
export type ReplicationPad2d = InstanceType<typeof ReplicationPad2d>;
export const ReplicationPad3d = pad('ReplicationPad', 3, 'replicate');
export type ReplicationPad3d = InstanceType<typeof ReplicationPad3d>;
export const ZeroPad1d = pad('ZeroPad', 1, 'constant');
export type ZeroPad1d = InstanceType<typeof ZeroPad1d>;
export const ZeroPad2d = pad('ZeroPad', 2, 'constant');
export type ZeroPad2d = InstanceType<typeof ZeroPad2d>;
export const ZeroPad3d = pad('ZeroPad', 3, 'constant');
export type ZeroPad3d = InstanceType<typeof ZeroPad3d>;
export const CircularPad1d = pad('CircularPad', 1, 'circular');
export type CircularPad1d = InstanceType<typeof CircularPad1d>;
export const CircularPad2d = pad('CircularPad', 2, 'circular');
export type CircularPad2d = InstanceType<typeof CircularPad2d>;
export const CircularPad3d = pad('CircularPad', 3, 'circular');
export type CircularPad3d = InstanceType<typeof CircularPad3d>;
