"""The models of examples/language and examples/images from PyTorch. See bench/cpp/ops.cpp for the protocol."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from serve import serve

# The sizes are those of bench/node/examples.cjs.
TOKENS, BATCH, VOCABULARY, POSITIONS = 100, 64, 512, 256
PROMPT = [1, 2, 3, 4, 5, 6, 7, 8]
LAYERS, WIDTH, WIDE, HEADS, GROUPS = 2, 64, 172, 4, 2
SIZE = WIDTH // HEADS


class Cache:
    def __init__(self, groups, positions):
        self.length = 0
        shape = 1, groups, positions, SIZE
        self.pairs = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(LAYERS)]

    def add(self, layer, keys, values):
        end = self.length + keys.shape[2]
        for all_, new in zip(self.pairs[layer], (keys, values)):
            all_.narrow(2, self.length, new.shape[2]).copy_(new)
        return [all_.narrow(2, 0, end) for all_ in self.pairs[layer]]


def attend(queries, keys, values):
    batch, heads, length, size = queries.shape
    groups, total = keys.shape[1:3]
    rows = heads // groups * length
    scores = queries.reshape(batch, groups, rows, size).matmul(keys.transpose(2, 3)).div(math.sqrt(size))
    if length > 1:
        later = torch.ones(length, total, dtype=torch.bool).triu(total - length + 1)
        scores = scores.view(batch, heads, length, total).masked_fill(later, -math.inf).view(batch, groups, rows, total)
    mixed = scores.softmax(-1).matmul(values).view(batch, heads, length, size)
    return mixed.transpose(1, 2).reshape(batch, length, heads * size)


def by_head(x, heads):
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


class Conv1D(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, out) * 0.02)
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Gpt2Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = Conv1D(WIDTH, 3 * WIDTH)
        self.c_proj = Conv1D(WIDTH, WIDTH)

    def forward(self, x, layer, cache):
        queries, keys, values = (by_head(part, HEADS) for part in self.c_attn(x).chunk(3, -1))
        return self.c_proj(attend(queries, *cache.add(layer, keys, values)))


class Gpt2Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = Conv1D(WIDTH, 4 * WIDTH)
        self.c_proj = Conv1D(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate='tanh'))


class Gpt2Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = Gpt2Attention()
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = Gpt2Mlp()

    def forward(self, x, layer, cache):
        x = x.add(self.attn(self.ln_1(x), layer, cache))
        return x.add(self.mlp(self.ln_2(x)))


class Gpt2(nn.Module):
    groups = HEADS

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(POSITIONS, WIDTH)
        self.h = nn.ModuleList(Gpt2Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, ids, cache):
        count = ids.shape[1]
        x = self.wte(ids).add(self.wpe.weight.narrow(0, cache.length, count))
        for layer, block in enumerate(self.h):
            x = block(x, layer, cache)
        cache.length += count
        return F.linear(self.ln_f(x), self.wte.weight)


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x.mul(torch.rsqrt(x.pow(2).mean(-1, keepdim=True).add(1e-6))).mul(self.weight)


def turn(x, turns):
    cosines, sines = turns
    return x.mul(cosines).add(x.roll(x.shape[3] // 2, 3).mul(sines))


def linear(size, out):
    return nn.Linear(size, out, bias=False)


class LlamaAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = linear(WIDTH, WIDTH)
        self.k_proj = linear(WIDTH, SIZE * GROUPS)
        self.v_proj = linear(WIDTH, SIZE * GROUPS)
        self.o_proj = linear(WIDTH, WIDTH)

    def forward(self, x, turns, layer, cache):
        queries = turn(by_head(self.q_proj(x), HEADS), turns)
        keys = turn(by_head(self.k_proj(x), GROUPS), turns)
        values = by_head(self.v_proj(x), GROUPS)
        return self.o_proj(attend(queries, *cache.add(layer, keys, values)))


class LlamaMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = linear(WIDTH, WIDE)
        self.up_proj = linear(WIDTH, WIDE)
        self.down_proj = linear(WIDE, WIDTH)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)).mul(self.up_proj(x)))


class LlamaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm = RMSNorm()
        self.self_attn = LlamaAttention()
        self.post_attention_layernorm = RMSNorm()
        self.mlp = LlamaMlp()

    def forward(self, x, turns, layer, cache):
        x = x.add(self.self_attn(self.input_layernorm(x), turns, layer, cache))
        return x.add(self.mlp(self.post_attention_layernorm(x)))


class Llama(nn.Module):
    groups = GROUPS

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(LlamaBlock() for _ in range(LAYERS))
        self.norm = RMSNorm()
        self.lm_head = linear(WIDTH, VOCABULARY)
        speeds = torch.pow(10_000, -torch.arange(0, SIZE, 2).float() / SIZE)
        angles = torch.outer(torch.arange(POSITIONS).float(), speeds)
        self.register_buffer('cosines', torch.cat([angles.cos(), angles.cos()], 1), persistent=False)
        self.register_buffer('sines', torch.cat([-angles.sin(), angles.sin()], 1), persistent=False)

    def forward(self, ids, cache):
        count = ids.shape[1]
        turns = self.cosines.narrow(0, cache.length, count), self.sines.narrow(0, cache.length, count)
        x = self.embed_tokens(ids)
        for layer, block in enumerate(self.layers):
            x = block(x, turns, layer, cache)
        cache.length += count
        return self.lm_head(self.norm(x))


def decoding(model):
    model.eval()

    def loop():
        cache = Cache(model.groups, len(PROMPT) + TOKENS - 1)
        following = PROMPT
        with torch.no_grad():
            for _ in range(TOKENS):
                scores = model(torch.tensor([following]), cache).select(1, -1).select(0, 0)
                following = [scores.argmax().item()]

    return loop, TOKENS


def conv(channels, out, stride, size=3):
    return nn.Conv2d(channels, out, size, stride=stride, padding=size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv1 = conv(channels, out, 2)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = conv(out, out, 1)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = nn.Sequential(conv(channels, out, 2, 1), nn.BatchNorm2d(out))

    def forward(self, x):
        changed = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return changed.add(self.downsample(x)).relu()


class ResNet(nn.Module):
    def __init__(self, classes, width=8):
        super().__init__()
        self.conv1 = conv(1, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = Block(width, width)
        self.layer2 = Block(width, 2 * width)
        self.layer3 = Block(2 * width, 4 * width)
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        for layer in self.layer1, self.layer2, self.layer3:
            y = layer(y)
        return self.fc(y.mean([2, 3]))


def training():
    net = ResNet(10)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.005)
    pictures = torch.rand(BATCH, 1, 28, 28)
    labels = torch.randint(0, 10, (BATCH,))

    def loop():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(net(pictures), labels).backward()
        optimizer.step()

    return loop, BATCH


LOOPS = {'gpt2': decoding(Gpt2()), 'llama': decoding(Llama()), 'resnet': training()}

serve(LOOPS)
