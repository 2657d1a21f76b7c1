#!/usr/bin/env python3
"""Writes the golden files of the models beside this script, with torchvision's and PyTorch's modules as the reference.

Every weight is a closed formula of (parameter index, element index), so C++ fills the same network. One training
step in float64: logits, loss, gradients, running statistics. Also the FLOPs of convolutions and linear layers.

    pip install torch==2.11.0 torchvision==0.26.0 numpy
    python3 make_golden.py
"""
import collections
import json
import math
import pathlib

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
]
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


def make_model(name, stem, channels):
    model = getattr(torchvision.models, name)(num_classes=CLASSES).double().train()
    if stem != "imagenet":  # pytorch-cifar's nets
        model.conv1 = torch.nn.Conv2d(channels, 64, 3, stride=1, padding=1, bias=False).double()
        model.maxpool = torch.nn.Identity()
    return model


def summary(index, tensor):
    """Two numbers of a tensor: its norm and its projection on the pattern, which sees order and sign."""
    flat = tensor.detach().double().reshape(-1)
    return [flat.norm().item(), flat.dot(pattern(index, flat.numel())).item()]


def golden(name, stem, shape, every):
    model = make_mlp(math.prod(shape[1:])) if name == "mlp" else make_model(name, stem, shape[1])
    parameters = list(model.named_parameters())
    with torch.no_grad():
        for index, (tensor_name, parameter) in enumerate(parameters):
            parameter.copy_(fill(index, parameter, tensor_name.endswith("bias")))
    images = 2.0 * pattern(INPUT_INDEX, math.prod(shape)).view(shape)
    labels = torch.tensor([(7 * sample + 3) % CLASSES for sample in range(shape[0])])

    flops = FlopCounterMode(display=False)
    with flops:
        logits = model(images)
    forward_flops = flops.get_total_flops()
    with flops:
        loss = torch.nn.functional.cross_entropy(logits, labels)
        loss.backward()

    statistics = [(n, b) for n, b in model.named_buffers() if b.is_floating_point()]
    picked = lambda n: range(n) if every else sorted({0, 1, 2, n // 3, n // 2, n - 3, n - 2, n - 1})
    return {
        "model": name,
        "stem": stem,
        "shape": shape,
        "classes": CLASSES,
        "parameters": sum(p.numel() for _, p in parameters),
        "tensors": [len(parameters), len(statistics)],
        "forward_flops": forward_flops,
        "backward_flops": flops.get_total_flops(),
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
        path.write_text(dump(golden(name, stem, shape, every)))
        print(path.name)


if __name__ == "__main__":
    main()
