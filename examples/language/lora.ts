/**
 * LoRA: a small difference to the linear layers of a model. The model's weights stay as they are, so an adapter is put on
 * and taken off while the model runs, and several adapters share one model. Files have the names of Hugging Face's PEFT.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import torch, { type Tensor } from 'libtorch-node';

const F = torch.nn.functional;
const FILES = ['adapter_config.json', 'adapter_model.safetensors'] as const;
const PREFIX = 'base_model.model.';

/** The names of these fields are those of adapter_config.json. */
export interface AdapterConfig {
  peft_type: 'LORA';
  /** The rank of the difference. */
  r: number;
  lora_alpha: number;
  /** The names of the layers that get one. */
  target_modules: string[];
}

/** `Linear`, or GPT-2's own linear layer. */
interface LinearLayer extends torch.nn.Module {
  inFeatures: number;
  outFeatures: number;
}

/** The difference of one layer: `x A^T B^T`. B begins as zero, so that an untrained adapter changes nothing. */
class Difference extends torch.nn.Module {
  lora_A: torch.nn.Linear;
  lora_B: torch.nn.Linear;
  constructor({ inFeatures, outFeatures }: LinearLayer, rank: number) {
    super();
    this.lora_A = new torch.nn.Linear(inFeatures, rank, false) as torch.nn.Linear;
    this.lora_B = new torch.nn.Linear(rank, outFeatures, false) as torch.nn.Linear;
    torch.nn.init.zeros_(this.lora_B.weight);
  }
  override forward(x: Tensor, scale: number): Tensor {
    return F.linear(F.linear(x, this.lora_A.weight), this.lora_B.weight).mul(scale);
  }
}

export class Adapter extends torch.nn.Module {
  readonly #layers: [name: string, layer: LinearLayer][];
  differences: torch.nn.ModuleList;

  /** @throws Error if the model does not have such linear layers */
  constructor(
    model: torch.nn.Module,
    readonly config: AdapterConfig,
  ) {
    super();
    const wanted = new Set(config.target_modules);
    const named = model.namedModules().filter(([name]) => wanted.has(name.slice(name.lastIndexOf('.') + 1)));
    this.#layers = named.filter((entry): entry is [string, LinearLayer] => 'inFeatures' in entry[1]);
    if (this.#layers.length === 0) throw new Error(`target_modules: expected linear layers, got ${[...wanted]}`);
    this.differences = new torch.nn.ModuleList(this.#layers.map(([, layer]) => new Difference(layer, config.r)));
  }

  /** Runs a synchronous function with the adapter on the model. Afterwards the model is as before, to the bit. */
  use<T>(fn: () => T): T {
    const scale = this.config.lora_alpha / this.config.r;
    const differences = [...this.differences];
    const hooks = this.#layers.map(([, layer], i) =>
      layer.registerForwardHook((_layer, [x], y: Tensor) => y.add(differences[i]!.forward(x, scale))),
    );
    try {
      return fn();
    } finally {
      for (const hook of hooks) hook.remove();
    }
  }

  /** The tensors by their names in files. */
  #byName(): [name: string, weight: Tensor][] {
    return [...this.differences].flatMap((difference, i) =>
      difference.namedParameters().map(([part, weight]): [string, Tensor] => {
        return [`${PREFIX}${this.#layers[i]![0]}.${part}`, weight];
      }),
    );
  }

  save(folder: string): void {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, FILES[0]), `${JSON.stringify(this.config, null, 2)}\n`);
    torch.safetensors.save(Object.fromEntries(this.#byName()), path.join(folder, FILES[1]));
  }

  /** The adapter in a folder. @throws Error if it does not fit the model */
  static load(model: torch.nn.Module, folder: string): Adapter {
    const adapter = new Adapter(model, JSON.parse(readFileSync(path.join(folder, FILES[0]), 'utf8')) as AdapterConfig);
    torch.scope(() => {
      const weights = torch.safetensors.load(path.join(folder, FILES[1]));
      const mine = adapter.#byName();
      const missing = mine.filter(([name]) => weights[name] === undefined).map(([name]) => name);
      const others = Object.keys(weights).filter((name) => !mine.some(([own]) => own === name));
      if (missing.length + others.length > 0)
        throw new Error(
          `${folder}: expected an adapter of this model, got one without [${missing}] and with [${others}]`,
        );
      torch.noGrad(() => {
        for (const [name, weight] of mine) weight.copy_(weights[name]!);
      });
    });
    return adapter;
  }
}
