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
    *((f"vgg{layers}", "cifar", (2, 3, 32, 32), False) for layers in ("11-bn", "13-bn", "16", "19", "19-bn")),
    ("mobilenetv2", "imagenet", (3, 3, 64, 64), False),
    ("mobilenetv2", "cifar", (3, 3, 32, 32), False),
    ("transformer", "tokens", (2, 24), True),
    ("transformer-tied", "tokens", (2, 24), True),
    ("resnet1001", "cifar", (2, 3, 8, 8), False),
    ("unet", "masks", (2, 3, 10, 10), True),
    ("amoebanetd", "imagenet", (2, 3, 64, 64), False),
]
CHOICES = {
    "transformer": {"layers": 2, "hidden": 32, "heads": 4, "sequence": 32},
    "transformer-tied": {"layers": 2, "hidden": 32, "heads": 4, "sequence": 32, "tied": "on"},
    "unet": {"depth": 2, "convolutions": 2, "channels": 8},
    "amoebanetd": {"layers": 3, "filters": 32},
}
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

    def __init__(self, probability, name, whole_channels):
        super().__init__()
        self.probability, self.name, self.whole_channels = probability, name, whole_channels

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
        shape = (*x.shape[:2], 1, 1) if self.whole_channels else x.shape
        draws = mix(base + numpy.arange(1, math.prod(shape) + 1, dtype=u64) * u64(step)) >> u64(11)
        kept = torch.from_numpy(draws.astype(numpy.float64) / 2.0**53 >= self.probability).view(shape)
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
    """GPT-2's form (Radford et al. 2019): norms before, learned positions; embeddings tied or not."""

    def __init__(self, layers, hidden, heads, sequence, tied="off"):
        super().__init__()
        self.wte = torch.nn.Embedding(CLASSES, hidden)
        self.wpe = torch.nn.Embedding(sequence, hidden)
        self.h = torch.nn.Sequential(*[TransformerBlock(hidden, heads) for _ in range(layers)])
        self.ln_f = torch.nn.LayerNorm(hidden)
        self.lm_head = torch.nn.Linear(hidden, CLASSES, bias=False)
        if tied == "on":
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.lm_head(self.ln_f(self.h(x)))


class PreactivatedBlock(torch.nn.Module):
    """He et al. 2016: norm and activation before each convolution; the projection reads the activated input."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.bn1, self.conv1 = torch.nn.BatchNorm2d(channels), torch.nn.Conv2d(channels, width, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(width)
        self.conv2 = torch.nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn3, self.conv3 = torch.nn.BatchNorm2d(width), torch.nn.Conv2d(width, 4 * width, 1, bias=False)
        self.shortcut = None
        if channels != 4 * width:
            self.shortcut = torch.nn.Conv2d(channels, 4 * width, 1, stride=stride, bias=False)

    def forward(self, x):
        activated = torch.relu(self.bn1(x))
        y = self.conv2(torch.relu(self.bn2(self.conv1(activated))))
        return self.conv3(torch.relu(self.bn3(y))) + (x if self.shortcut is None else self.shortcut(activated))


class ResNet1001(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 16, 3, padding=1, bias=False)
        channels = 16
        for group in range(3):
            blocks = []
            for index in range(111):
                blocks.append(PreactivatedBlock(channels, 16 << group, 2 if group and index == 0 else 1))
                channels = 4 * (16 << group)
            self.add_module(f"layer{group + 1}", torch.nn.Sequential(*blocks))
        self.bn, self.fc = torch.nn.BatchNorm2d(channels), torch.nn.Linear(channels, CLASSES)

    def forward(self, x):
        y = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.fc(torch.relu(self.bn(y)).mean((2, 3)))


class UnetConvolution(torch.nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, out, 3, padding=1, bias=False)
        self.dropout = torch.nn.Dropout2d(0.1)
        self.norm = torch.nn.InstanceNorm2d(out)

    def forward(self, x):
        return torch.nn.functional.leaky_relu(self.norm(self.dropout(self.conv(x))), 0.01)


class Unet(torch.nn.Module):
    def __init__(self, depth, convolutions, channels):
        super().__init__()

        def cell(before, hidden, out):
            widths = [before] + [hidden] * (convolutions - 1) + [out]
            return torch.nn.Sequential(*[UnetConvolution(a, b) for a, b in zip(widths, widths[1:])])

        self.encoder, self.decoder = torch.nn.Module(), torch.nn.Module()
        for i in range(depth):
            self.encoder.add_module(str(i), cell(channels << (i - 1) if i else 3, channels << i, channels << i))
        deepest = channels << (depth - 1)
        self.bottleneck = cell(deepest, 2 * deepest, deepest)
        del self.decoder  # its parameters come after the bottleneck's
        self.decoder = torch.nn.Module()
        for i in reversed(range(depth)):
            self.decoder.add_module(str(i), cell(channels << (i + 1), (channels << i) // 2, (channels << i) // 2))
        self.head = torch.nn.Conv2d(channels // 2, CLASSES, 1, bias=False)

    def forward(self, x):
        skips = []
        for encoder in self.encoder.children():
            skips.append(encoder(x))
            x = torch.nn.functional.max_pool2d(skips[-1], 2)
        x = self.bottleneck(x)
        for decoder in self.decoder.children():
            x, skip = torch.nn.functional.interpolate(x, scale_factor=2), skips.pop()
            x = torch.nn.functional.pad(x, (0, skip.shape[3] - x.shape[3], 0, skip.shape[2] - x.shape[2]))
            x = decoder(torch.cat((x, skip), 1))
        return self.head(x)


class Activated(torch.nn.Module):
    """ReLU, convolution, batch norm."""

    def __init__(self, channels, out, kernel=1, stride=1, padding=0):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, out, kernel, stride, padding, bias=False)
        self.bn = torch.nn.BatchNorm2d(out)

    def forward(self, x):
        return self.bn(self.conv(torch.relu(x)))


class Factorised(torch.nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv_1 = torch.nn.Conv2d(channels, out // 2, 1, stride=2, bias=False)
        self.conv_2 = torch.nn.Conv2d(channels, out // 2, 1, stride=2, bias=False)
        self.bn = torch.nn.BatchNorm2d(out)

    def forward(self, x):
        x = torch.relu(x)
        shifted = torch.nn.functional.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:]
        return self.bn(torch.cat((self.conv_1(x), self.conv_2(shifted)), 1))


NORMAL = ([(1, "1x1"), (1, "avg3"), (1, "none"), (0, "1x7-7x1"), (0, "1x1"), (0, "1x7-7x1"), (2, "avg3"), (2, "none"),
           (1, "avg3"), (5, "1x1")], [0, 3, 4, 6])
REDUCTION = ([(0, "max2"), (0, "avg3"), (2, "none"), (1, "3x3"), (2, "1x7-7x1"), (2, "avg3"), (3, "none"), (1, "max2"),
              (2, "avg3"), (3, "1x1")], [4, 5, 6])


class AmoebaCell(torch.nn.Module):
    def __init__(self, last, before_last, c, reduces, after_reduction):
        super().__init__()
        self.choices, self.joined = REDUCTION if reduces else NORMAL
        self.last = torch.nn.Sequential(Activated(last, c))
        if after_reduction:
            self.before_last = Factorised(before_last, c)
        else:
            self.before_last = torch.nn.Sequential(*([Activated(before_last, c)] if before_last != c else []))
        self.branch = torch.nn.ModuleList()
        for state, name in self.choices:
            stride = 2 if reduces and state < 2 else 1
            self.branch.append({
                "none": lambda: torch.nn.Identity() if stride == 1 else Factorised(c, c),
                "1x1": lambda: torch.nn.Sequential(Activated(c, c, 1, stride)),
                "3x3": lambda: torch.nn.Sequential(Activated(c, c // 4), Activated(c // 4, c // 4, 3, stride, 1),
                                                   Activated(c // 4, c)),
                "1x7-7x1": lambda: torch.nn.Sequential(
                    Activated(c, c // 4), Activated(c // 4, c // 4, (1, 7), stride, (0, 3)),
                    Activated(c // 4, c // 4, (7, 1), 1, (3, 0)), Activated(c // 4, c)),
                "avg3": lambda: torch.nn.AvgPool2d(3, stride, 1, count_include_pad=False),
                "max2": lambda: torch.nn.MaxPool2d(2, stride),
            }[name]())

    def forward(self, last, before_last):
        states = [self.last(last), self.before_last(before_last)]
        for i in range(0, len(self.choices), 2):
            first, second = (self.branch[k](states[self.choices[k][0]]) for k in (i, i + 1))
            states.append(first + second)
        return torch.cat([states[i] for i in self.joined], 1)


class AmoebaNet(torch.nn.Module):
    def __init__(self, layers, filters):
        super().__init__()
        c = filters // 4
        self.stem1 = Activated(3, c, 3, 2, 1)
        self.cells, last, before_last, after_reduction = [], c, c, False
        plan = [("stem2", True), ("stem3", True)]
        for group in range(3):
            plan += [(f"reduction{group}", True)] if group else []
            plan += [(f"cell{group + 1}.{i}", False) for i in range(layers // 3)]
        for name, reduces in plan:
            c *= 2 if reduces else 1
            cell = AmoebaCell(last, before_last, c, reduces, after_reduction)
            parent, _, child = name.rpartition(".")
            if parent and not hasattr(self, parent):
                self.add_module(parent, torch.nn.Module())
            (self.get_submodule(parent) if parent else self).add_module(child, cell)
            self.cells.append(cell)
            last, before_last, after_reduction = c * len(cell.joined), last, reduces
        self.fc = torch.nn.Linear(last, CLASSES)

    def forward(self, x):
        last = before_last = self.stem1(x)
        for cell in self.cells:
            last, before_last = cell(last, before_last), last
        return self.fc(last.mean((2, 3)))


def named_dropouts(model):
    for name, module in list(model.named_modules()):
        if isinstance(module, (torch.nn.Dropout, torch.nn.Dropout2d)):
            parent, _, last = name.rpartition(".")
            whole = isinstance(module, torch.nn.Dropout2d)
            setattr(model.get_submodule(parent), last, Dropout(module.p, name, whole))
    return model


def make_model(name, stem, channels):
    if name.startswith("transformer"):
        return Transformer(**CHOICES[name]).double().train()
    if name == "resnet1001":
        return ResNet1001().double().train()
    if name == "unet":
        return named_dropouts(Unet(**CHOICES[name]).double().train())
    if name == "amoebanetd":
        return AmoebaNet(**CHOICES[name]).double().train()
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
    if stem == "masks":
        masks = [(5 * n + 3 * p + p * p // 7) % CLASSES for n in range(shape[0]) for p in range(shape[2] * shape[3])]
        labels = torch.tensor(masks).view(shape[0], *shape[2:])

    flops = FlopCounterMode(display=False)
    with flops:
        logits = model(images)
    forward_flops = products(flops)
    with flops:
        rows = logits.movedim(1, -1) if stem == "masks" else logits
        loss = torch.nn.functional.cross_entropy(rows.flatten(0, -2), labels.flatten())
        loss.backward()

    # The counter takes the weight gradient of a grouped convolution for that of an ungrouped one.
    grouped = any(getattr(module, "groups", 1) > 1 for module in model.modules())
    statistics = [(n, b) for n, b in model.named_buffers() if b.is_floating_point()]
    picked = lambda n: range(n) if every or n < 8 else sorted({0, 1, 2, n // 3, n // 2, n - 3, n - 2, n - 1})
    return {
        "model": name.removesuffix("-tied"),
        "choice": {key: str(value) for key, value in CHOICES.get(name, {}).items()},
        "stem": stem,
        "shape": shape,
        "classes": CLASSES,
        "parameters": sum(p.numel() for _, p in parameters),
        "tensors": [len(parameters), len(statistics)],
        "forward_flops": forward_flops,
        "backward_flops": None if grouped else products(flops),
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
    if unknown := set(sys.argv[1:]) - {f"{name}-{stem}.json" for name, stem, _, _ in CASES}:
        sys.exit(f"files of no case: {sorted(unknown)}")
    for name, stem, shape, every in CASES:
        path = folder / f"{name}-{stem}.json"
        if len(sys.argv) > 1 and path.name not in sys.argv[1:]:
            continue
        path.write_text(dump(golden(name, stem, shape, every)))
        print(path.name)


if __name__ == "__main__":
    main()
