import torch, { ones } from 'libtorch-node';

if (ones([2, 3]).sum().item() !== 6 || torch.ones([1]).item() !== 1) throw new Error('wrong sum');
console.log('module: ok');
