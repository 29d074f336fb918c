"""torchvision's formulas in plain PyTorch: the results of transforms on one picture, by name, as JSON."""
import json

import torch
import torch.nn.functional as F


def picture(channels, height, width):
    count = channels * height * width
    return (torch.arange(count) * 7919 % 256).to(torch.uint8).reshape(channels, height, width)


def resized(image, size, mode='bilinear', antialias=True):
    short, long = sorted(image.shape[-2:])
    if isinstance(size, int):
        other = int(size * long / short)
        size = [other, size] if image.shape[-1] <= image.shape[-2] else [size, other]
    batch = image.unsqueeze(0)
    if image.dtype not in (torch.float32, torch.float64):
        batch = batch.float()
    if mode == 'nearest':
        return F.interpolate(batch, size=size, mode=mode).squeeze(0).to(image.dtype)
    made = F.interpolate(batch, size=size, mode=mode, align_corners=False, antialias=antialias).squeeze(0)
    if mode == 'bicubic' and image.dtype == torch.uint8:
        made = made.clamp(0, 255)
    if not image.is_floating_point():
        made = made.round()
    return made.to(image.dtype)


def crop(image, top, left, height, width):
    return image[..., top:top + height, left:left + width]


def center(image, height, width):
    h, w = image.shape[-2:]
    if width > w or height > h:
        pad = [(width - w) // 2 if width > w else 0, (width - w + 1) // 2 if width > w else 0]
        pad += [(height - h) // 2 if height > h else 0, (height - h + 1) // 2 if height > h else 0]
        image = F.pad(image, pad)
        h, w = image.shape[-2:]
    return crop(image, int(round((h - height) / 2.0)), int(round((w - width) / 2.0)), height, width)


def random_crop(image, size, padding):
    image = F.pad(image, [padding] * 4, value=7)
    h, w = image.shape[-2:]
    top = torch.randint(0, h - size + 1, size=(1,)).item()
    left = torch.randint(0, w - size + 1, size=(1,)).item()
    return crop(image, top, left, size, size)


def flips(image):
    return [(image.flip(-1) if torch.rand(1) < 0.5 else image).flatten()[0].item() for _ in range(12)]


def max_value(dtype):
    return torch.iinfo(dtype).max if dtype != torch.bool and not dtype.is_floating_point else 1


def blend(a, b, ratio):
    return (ratio * a + (1.0 - ratio) * b).clamp(0, max_value(a.dtype)).to(a.dtype)


def grey(image):
    r, g, b = image.unbind(dim=-3)
    return (0.2989 * r + 0.587 * g + 0.114 * b).to(image.dtype).unsqueeze(dim=-3)


def contrast(image, factor):
    dtype = image.dtype if image.is_floating_point() else torch.float32
    return blend(image, torch.mean(grey(image).to(dtype), dim=(-3, -2, -1), keepdim=True), factor)


def rgb2hsv(img):
    r, g, b = img.unbind(dim=-3)
    maxc = torch.max(img, dim=-3).values
    minc = torch.min(img, dim=-3).values
    eqc = maxc == minc
    cr = maxc - minc
    ones = torch.ones_like(maxc)
    s = cr / torch.where(eqc, ones, maxc)
    divisor = torch.where(eqc, ones, cr)
    rc, gc, bc = (maxc - r) / divisor, (maxc - g) / divisor, (maxc - b) / divisor
    hr = (maxc == r) * (bc - gc)
    hg = ((maxc == g) & (maxc != r)) * (2.0 + rc - bc)
    hb = ((maxc != g) & (maxc != r)) * (4.0 + gc - rc)
    h = torch.fmod((hr + hg + hb) / 6.0 + 1.0, 1.0)
    return torch.stack((h, s, maxc), dim=-3)


def hsv2rgb(img):
    h, s, v = img.unbind(dim=-3)
    i = torch.floor(h * 6.0)
    f = (h * 6.0) - i
    i = i.to(dtype=torch.int32) % 6
    p = torch.clamp((v * (1.0 - s)), 0.0, 1.0)
    q = torch.clamp((v * (1.0 - s * f)), 0.0, 1.0)
    t = torch.clamp((v * (1.0 - s * (1.0 - f))), 0.0, 1.0)
    mask = i.unsqueeze(dim=-3) == torch.arange(6).view(-1, 1, 1)
    a = [torch.stack(c, dim=-3) for c in ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))]
    return torch.einsum("...ijk, ...xijk -> ...xjk", mask.to(dtype=img.dtype), torch.stack(a, dim=-4))


def hue(image, factor):
    floats = image if image.is_floating_point() else image.float() / max_value(image.dtype)
    h, s, v = rgb2hsv(floats).unbind(dim=-3)
    made = hsv2rgb(torch.stack(((h + factor) % 1.0, s, v), dim=-3))
    return made if image.is_floating_point() else made.mul(max_value(image.dtype) + 1.0 - 1e-3).to(image.dtype)


ADJUST = [
    lambda image, factor: blend(image, torch.zeros_like(image), factor),
    contrast,
    lambda image, factor: blend(image, grey(image), factor),
    hue,
]


def jitter(image, ranges):
    order = torch.randperm(4)
    factors = [float(torch.empty(1).uniform_(low, high)) for low, high in ranges]
    for i in order.tolist():
        image = ADJUST[i](image, factors[i])
    return image


def seeded(run):
    torch.manual_seed(11)
    return run()


image, tall = picture(3, 9, 14), picture(3, 15, 7)
floats = image.float() / 255
mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])
RANGES = [[0.6, 1.4], [0.5, 1.5], [0.3, 1.7], [-0.2, 0.2]]
cases = {
    "resize, shorter edge": lambda: resized(image, 5),
    "resize, tall": lambda: resized(tall, 4),
    "resize, larger": lambda: resized(image, [20, 31]),
    "resize, floats": lambda: resized(floats, [4, 6]),
    "resize, bicubic": lambda: resized(image, [5, 6], 'bicubic'),
    "resize, no antialias": lambda: resized(image, [4, 5], 'bilinear', False),
    "resize, nearest": lambda: resized(image, [4, 5], 'nearest'),
    "resize, bicubic, int16": lambda: resized(image.short() * 100 - 9000, [5, 6], 'bicubic'),
    "resize, float16": lambda: resized(floats.half(), [5, 6]),
    "resize, nearest, int64": lambda: resized(image.long() - 9000, [4, 5], 'nearest'),
    "center": lambda: center(image, 4, 7),
    "center, padded": lambda: center(tall, 6, 10),
    "random crop": lambda: random_crop(image, 6, 2),
    "flips": lambda: torch.tensor(flips(image)),
    "normalize": lambda: (floats - mean.view(-1, 1, 1)) / std.view(-1, 1, 1),
    "to tensor": lambda: floats,
    "jitter": lambda: jitter(floats, RANGES),
    "jitter, uint8": lambda: jitter(image, RANGES),
    "jitter, int16": lambda: jitter(image.short() * 128, RANGES),
    "jitter, int8": lambda: jitter((image // 2).char(), RANGES),
    "jitter, int32": lambda: blend(image.int() * 2**22, torch.zeros_like(image), 1.5),
}
print(json.dumps({name: seeded(case).tolist() for name, case in cases.items()}))
