"""The decoders of examples/language by their formulas: decoders.py IN OUT. Both files are torch.save's."""

import math
import sys

import torch
from torch.nn import functional as F

torch.set_num_threads(1)


def masked(scores):
    length = scores.shape[-1]
    return scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf).softmax(-1)


def attention(q, k, v):
    return masked(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])) @ v


def gpt2(config, w, ids):
    heads, eps = int(config["n_head"]), config["layer_norm_epsilon"]
    length, width = len(ids), int(config["n_embd"])
    x = w["wte.weight"][ids] + w["wpe.weight"][:length]
    norm = lambda x, name: F.layer_norm(x, (width,), w[f"{name}.weight"], w[f"{name}.bias"], eps)
    dense = lambda x, name: x @ w[f"{name}.weight"] + w[f"{name}.bias"]
    for i in range(int(config["n_layer"])):
        qkv = dense(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(width, -1)
        q, k, v = (part.view(length, heads, width // heads).transpose(0, 1) for part in qkv)
        x = x + dense(attention(q, k, v).transpose(0, 1).reshape(length, width), f"h.{i}.attn.c_proj")
        y = dense(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        x = x + dense(y, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def llama(config, w, ids):
    heads, groups = int(config["num_attention_heads"]), int(config["num_key_value_heads"])
    length, width = len(ids), int(config["hidden_size"])
    size = width // heads
    speeds = 1.0 / (config["rope_theta"] ** (torch.arange(0, size, 2).float() / size))
    angles = torch.cat([torch.outer(torch.arange(length).float(), speeds)] * 2, -1)

    def turn(x):
        a, b = x[..., : size // 2], x[..., size // 2 :]
        return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()

    def norm(x, name):
        return w[name] * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]))

    x = w["model.embed_tokens.weight"][ids]
    for i in range(int(config["num_hidden_layers"])):
        at = f"model.layers.{i}"
        y = norm(x, f"{at}.input_layernorm.weight")
        part = lambda name, count: (y @ w[f"{at}.self_attn.{name}.weight"].T).view(length, count, size).transpose(0, 1)
        repeat = lambda z: z.repeat_interleave(heads // groups, 0)
        q, k, v = turn(part("q_proj", heads)), turn(part("k_proj", groups)), part("v_proj", groups)
        y = attention(q, repeat(k), repeat(v)).transpose(0, 1).reshape(length, width)
        x = x + y @ w[f"{at}.self_attn.o_proj.weight"].T
        y = norm(x, f"{at}.post_attention_layernorm.weight")
        gate, up = y @ w[f"{at}.mlp.gate_proj.weight"].T, y @ w[f"{at}.mlp.up_proj.weight"].T
        x = x + (gate / (1 + torch.exp(-gate)) * up) @ w[f"{at}.mlp.down_proj.weight"].T
    return norm(x, "model.norm.weight") @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


asked = torch.load(sys.argv[1])
forward = {"gpt2": gpt2, "llama": llama}[asked["config"]["model_type"]]
ids = asked["ids"].long().tolist()
with torch.no_grad():
    logits = forward(asked["config"], asked["weights"], ids)
    said = list(ids)
    for _ in range(int(asked["tokens"])):
        said.append(forward(asked["config"], asked["weights"], said)[-1].argmax().item())
torch.save({"logits": logits, "tokens": torch.tensor(said[len(ids) :])}, sys.argv[2])
