/** What libraries export without annotations: the compiler writes the types of all of it to declarations. */
import torch, { type Tensor } from 'libtorch-node';

const { nn, optim, utils } = torch;

export const conv = new nn.Conv2d(3, 4, 3);
export class Net extends nn.Module {
  seq = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU());
  pool = new nn.MaxPool2d(2);
  bn = new nn.BatchNorm2d(4);
  instance = new nn.InstanceNorm2d(4);
  embedding = new nn.Embedding(10, 4);
  lstm = new nn.LSTM(3, 4);
  attention = new nn.MultiheadAttention(4, 2);
  encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(4, 2), 2);
  transposed = new nn.ConvTranspose1d(3, 4, 3);
  flat = new nn.Flatten();
  drop = new nn.Dropout(0.5);
  list = new nn.ModuleList([new nn.Linear(2, 2)]);
  norm = new nn.LayerNorm([4]);
  pad = new nn.ZeroPad2d(1);
  up = new nn.Upsample({ scaleFactor: 2 });
  override forward(x: Tensor): Tensor {
    return this.seq.forward(x);
  }
}
export const act = nn.functional.relu;
export const product = torch.matmul;
export const adam = new optim.Adam([torch.ones([1])]);
export const schedule = new optim.lrScheduler.StepLR(adam, 2);
export const rows = new utils.data.TensorDataset(torch.ones([2]));
export const batches = new utils.data.DataLoader([1, 2, 3], { batchSize: 2, collateFn: (v) => v.map((n) => n * 2) });
export const samples = new utils.data.DataLoader([1, 2, 3], { batchSize: null, collateFn: (n) => `${n.toFixed(1)}` });
class Records extends utils.data.Dataset<{ id: number }> {
  readonly length = 1;
  getItem(id: number) {
    return { id };
  }
}
export const ids = new utils.data.DataLoader(new Records(), { collateFn: (all) => all.map((one) => one.id) });
export const captured = torch.capture((x: Tensor) => x.add(1));
export const matrix = torch.ones([2, 3]).matmul(torch.ones([3, 4]));
export const loss = new nn.CrossEntropyLoss();

export async function types(): Promise<void> {
  for await (const batch of batches) batch satisfies number[];
  for await (const text of samples) text satisfies string;
  for await (const id of ids) id satisfies number[];
  for await (const any of new utils.data.DataLoader(rows)) any satisfies unknown;
}
