#!/usr/bin/env python3
"""Writes the golden files of the models beside this script, with torchvision's and PyTorch's modules as the reference.

Every weight is a closed formula of (parameter index, element index), so C++ fills the same network. One training
step in float64: logits, loss, gradients, running statistics. Also the FLOPs of convolutions and linear layers.

    pip install torch==2.11.0 torchvision==0.26.0 numpy
    python3 make_golden.py [FILE ...]
"""
import collections
import json
import math
import pathlib
import sys

import numpy
import torch
import torchvision
from torch.utils.flop_counter import FlopCounterMode

INPUT_INDEX = 1_000_003  # parameter index under which the images are drawn

CASES = [  # model, stem, shape of the images, every tensor listed
    ("resnet18", "imagenet", (2, 3, 64, 64), True),
    ("resnet34", "imagenet", (2, 3, 64, 64), False),
    ("resnet50", "imagenet", (2, 3, 64, 64), True),
    ("resnet101", "imagenet", (2, 3, 64, 64), False),
    ("resnet152", "imagenet", (2, 3, 64, 64), False),
    ("resnet18", "cifar", (2, 3, 32, 32), True),
    ("resnet50", "cifar", (2, 3, 32, 32), False),
    ("resnet18", "mnist", (3, 1, 28, 28), False),
    ("resnet50", "mnist", (3, 1, 28, 28), False),
    ("mlp", "cifar", (3, 3, 32, 32), True),
    ("vgg11", "imagenet", (2, 3, 64, 64), True),
    ("vgg16-bn", "cifar", (4, 3, 32, 32), True),
    ("vgg13", "mnist", (3, 1, 28, 28), True),
    ("mobilenetv2", "imagenet", (3, 3, 64, 64), False),
    ("mobilenetv2", "cifar", (3, 3, 32, 32), False),
    ("transformer", "tokens", (2, 24), True),
]
CHOICES = {"transformer": {"layers": 2, "hidden": 32, "heads": 4, "sequence": 32}}
CLASSES = 10


def pattern(index, elements):
    """`elements` values in [-0.5, 0.5), exact in float64: a 32-bit hash of index and element."""
    mask = numpy.uint64(0xFFFFFFFF)
    h = (numpy.arange(elements, dtype=numpy.uint64) * numpy.uint64(2654435761) + numpy.uint64(index * 40503 + 1)) & mask
    h ^= h >> numpy.uint64(15)
    h = (h * numpy.uint64(2246822519)) & mask
    h ^= h >> numpy.uint64(13)
    return torch.from_numpy(h.astype(numpy.float64) / 2.0**32 - 0.5)


def fill(index, parameter, is_bias):
    values = pattern(index, parameter.numel()).view_as(parameter)
    if parameter.dim() == 4:  # convolution: the variance that kaiming normal (fan out) has
        return values * math.sqrt(24.0 / (parameter.shape[0] * parameter.shape[2] * parameter.shape[3]))
    if parameter.dim() == 2:
        return values * (2.0 / math.sqrt(parameter.shape[1]))
    return 0.2 * values if is_bias else 1.0 + 0.5 * values


class MlpBlock(torch.nn.Module):
    def __init__(self, features, hidden, residual):
        super().__init__()
        self.fc = torch.nn.Linear(features, hidden)
        self.norm = torch.nn.LayerNorm(hidden)
        self.residual = residual

    def forward(self, x):
        y = self.norm(self.fc(x))
        return torch.relu(y + x if self.residual else y)


def make_mlp(features, layers=12, hidden=512):
    blocks = [(f"layer{i}", MlpBlock(hidden if i else features, hidden, residual=i > 0)) for i in range(layers - 1)]
    modules = [("flatten", torch.nn.Flatten()), *blocks, ("fc", torch.nn.Linear(hidden, CLASSES))]
    return torch.nn.Sequential(collections.OrderedDict(modules)).double().train()


class Dropout(torch.nn.Module):
    """Drops by draws keyed by (seed 0, name, element counted from the stream's first sample): base/random.h."""

    def __init__(self, probability, name):
        super().__init__()
        self.probability, self.name = probability, name

    def forward(self, x):
        word = (1 << 64) - 1
        u64 = numpy.uint64

        def mix(h):
            h = (h ^ (h >> u64(30))) * u64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> u64(27))) * u64(0x94D049BB133111EB)
            return h ^ (h >> u64(31))

        stream = 0xCBF29CE484222325
        for character in self.name.encode():
            stream = ((stream ^ character) * 0x100000001B3) & word
        step = 0x9E3779B97F4A7C15
        base = mix(mix(numpy.array([(stream + step) & word], dtype=u64)))
        draws = mix(base + numpy.arange(1, x.numel() + 1, dtype=u64) * u64(step)) >> u64(11)
        kept = torch.from_numpy(draws.astype(numpy.float64) / 2.0**53 >= self.probability).view_as(x)
        return x * kept / (1 - self.probability)


def make_vgg(name, channels):
    """pytorch-cifar's form, by the table of torchvision."""
    configuration = {"vgg11": "A", "vgg13": "B", "vgg16": "D", "vgg19": "E"}[name.split("-")[0]]
    entries = list(torchvision.models.vgg.cfgs[configuration])
    features = torchvision.models.vgg.make_layers(entries, batch_norm=name.endswith("-bn"))
    if channels == 1:  # MNIST: 28 pixels cannot be halved five times
        features[0] = torch.nn.Conv2d(1, 64, 3, padding=1)
        features = features[:-1]
    pooled = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    modules = [("features", features), ("pool", pooled), ("classifier", torch.nn.Linear(512, CLASSES))]
    return torch.nn.Sequential(collections.OrderedDict(modules)).double().train()


class MobileBlock(torch.nn.Module):
    """pytorch-cifar's inverted residual."""

    def __init__(self, channels, out, expansion, stride):
        super().__init__()
        wide = channels * expansion
        self.conv1 = torch.nn.Conv2d(channels, wide, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(wide)
        self.conv2 = torch.nn.Conv2d(wide, wide, 3, stride=stride, padding=1, groups=wide, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(wide)
        self.conv3 = torch.nn.Conv2d(wide, out, 1, bias=False)
        self.bn3 = torch.nn.BatchNorm2d(out)
        self.stride = stride
        self.shortcut = torch.nn.Sequential()
        if stride == 1 and channels != out:
            self.shortcut = torch.nn.Sequential(torch.nn.Conv2d(channels, out, 1, bias=False), torch.nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return y + self.shortcut(x) if self.stride == 1 else y


class SmallMobileNet(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, 32, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(32)
        blocks, before = [], 32
        for expansion, out, count, stride in [(1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)]:
            for index in range(count):
                blocks.append(MobileBlock(before, out, expansion, stride if index == 0 else 1))
                before = out
        self.layers = torch.nn.Sequential(*blocks)
        self.conv2 = torch.nn.Conv2d(320, 1280, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(1280)
        self.linear = torch.nn.Linear(1280, CLASSES)

    def forward(self, x):
        y = self.layers(torch.relu(self.bn1(self.conv1(x))))
        y = torch.relu(self.bn2(self.conv2(y)))
        return self.linear(y.mean((2, 3)))


class Attention(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.c_attn = torch.nn.Linear(hidden, 3 * hidden)
        self.c_proj = torch.nn.Linear(hidden, hidden)
        self.heads = heads

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Perceptron(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.c_fc = torch.nn.Linear(hidden, 4 * hidden)
        self.c_proj = torch.nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        return self.c_proj(torch.nn.functional.gelu(self.c_fc(x), approximate="tanh"))


class TransformerBlock(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.ln_1, self.attn = torch.nn.LayerNorm(hidden), Attention(hidden, heads)
        self.ln_2, self.mlp = torch.nn.LayerNorm(hidden), Perceptron(hidden)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Transformer(torch.nn.Module):
    """GPT-2's form (Radford et al. 2019): norms before, learned positions, embeddings not tied."""

    def __init__(self, layers, hidden, heads, sequence):
        super().__init__()
        self.wte = torch.nn.Embedding(CLASSES, hidden)
        self.wpe = torch.nn.Embedding(sequence, hidden)
        self.h = torch.nn.Sequential(*[TransformerBlock(hidden, heads) for _ in range(layers)])
        self.ln_f = torch.nn.LayerNorm(hidden)
        self.lm_head = torch.nn.Linear(hidden, CLASSES, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.lm_head(self.ln_f(self.h(x)))


def named_dropouts(model):
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Dropout):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, Dropout(module.p, name))
    return model


def make_model(name, stem, channels):
    if name == "transformer":
        return Transformer(**CHOICES[name]).double().train()
    if stem != "imagenet" and name.startswith("vgg"):
        return make_vgg(name, channels)
    if stem != "imagenet" and name == "mobilenetv2":
        return SmallMobileNet(channels).double().train()
    if not name.startswith("resnet"):
        function = {"mobilenetv2": "mobilenet_v2"}.get(name, name.replace("-", "_"))
        return named_dropouts(getattr(torchvision.models, function)(num_classes=CLASSES).double().train())
    model = getattr(torchvision.models, name)(num_classes=CLASSES).double().train()
    if stem != "imagenet":  # pytorch-cifar's nets
        model.conv1 = torch.nn.Conv2d(channels, 64, 3, stride=1, padding=1, bias=False).double()
        model.maxpool = torch.nn.Identity()
    return model


def summary(index, tensor):
    """Two numbers of a tensor: its norm and its projection on the pattern, which sees order and sign."""
    flat = tensor.detach().double().reshape(-1)
    return [flat.norm().item(), flat.dot(pattern(index, flat.numel())).item()]


def products(flops):
    """Of convolutions and linear layers, without those of attention."""
    counts = flops.get_flop_counts()["Global"]
    return sum(count for operation, count in counts.items() if "bmm" not in str(operation))


def golden(name, stem, shape, every):
    model = make_mlp(math.prod(shape[1:])) if name == "mlp" else make_model(name, stem, shape[1])
    parameters = list(model.named_parameters())
    with torch.no_grad():
        for index, (tensor_name, parameter) in enumerate(parameters):
            parameter.copy_(fill(index, parameter, tensor_name.endswith("bias")))
    if stem == "tokens":
        images = torch.tensor([[(31 * n + 7 * t * t + 3) % CLASSES for t in range(shape[1])] for n in range(shape[0])])
        labels = torch.tensor([[(5 * n + 3 * t + 2) % CLASSES for t in range(shape[1])] for n in range(shape[0])])
    else:
        images = 2.0 * pattern(INPUT_INDEX, math.prod(shape)).view(shape)
        labels = torch.tensor([(7 * sample + 3) % CLASSES for sample in range(shape[0])])

    flops = FlopCounterMode(display=False)
    with flops:
        logits = model(images)
    forward_flops = products(flops)
    with flops:
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
        loss.backward()

    statistics = [(n, b) for n, b in model.named_buffers() if b.is_floating_point()]
    picked = lambda n: range(n) if every else sorted({0, 1, 2, n // 3, n // 2, n - 3, n - 2, n - 1})
    return {
        "model": name,
        "choice": {key: str(value) for key, value in CHOICES.get(name, {}).items()},
        "stem": stem,
        "shape": shape,
        "classes": CLASSES,
        "parameters": sum(p.numel() for _, p in parameters),
        "tensors": [len(parameters), len(statistics)],
        "forward_flops": forward_flops,
        "backward_flops": products(flops),
        "loss": loss.item(),
        "logits": logits.detach().reshape(-1).tolist(),
        "gradients": [
            [i, parameters[i][0], *summary(i, parameters[i][1].grad)] for i in picked(len(parameters))
        ],
        "statistics": [[i, statistics[i][0], *summary(i, statistics[i][1])] for i in picked(len(statistics))],
    }


def dump(data):
    """JSON with one short line per tensor."""
    lines = []
    for key, value in data.items():
        rows = value if key in ("gradients", "statistics") else None
        text = json.dumps(value) if rows is None else "[\n    " + ",\n    ".join(map(json.dumps, rows)) + "\n  ]"
        lines.append(f'  "{key}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    torch.manual_seed(1)  # of no effect on the result: every tensor is filled
    folder = pathlib.Path(__file__).parent
    for name, stem, shape, every in CASES:
        path = folder / f"{name}-{stem}.json"
        if len(sys.argv) > 1 and path.name not in sys.argv[1:]:
            continue
        path.write_text(dump(golden(name, stem, shape, every)))
        print(path.name)


if __name__ == "__main__":
    main()
