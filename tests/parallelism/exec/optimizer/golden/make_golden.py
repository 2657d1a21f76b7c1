#!/usr/bin/env python3
"""Writes optimizers.json beside this script: the weights that PyTorch's optimizers make of given gradients, in float64.

Two tensors, one of which starts at zero as a bias does. Weights and gradients are closed formulas of (tensor, step,
element), so that C++ makes the same. lars is NVIDIA apex's LARC (apex/parallel/LARC.py) with clip=False around
torch.optim.SGD, its loop over parameters written out below: PyTorch has none of its own.

    pip install torch==2.11.0 numpy
    python3 make_golden.py
"""
import json
import math
import pathlib

import torch

SIZES = (300, 7)
STEPS = 5


def start(tensor, element):
    return math.cos(0.3 * element + 1) if tensor == 0 else 0.0


def gradient(tensor, step, element):
    return math.sin(0.7 * element + 1.3 * step + tensor)


def larc(parameters, trust, weight_decay, eps):
    """What LARC.step does to the gradients before it calls SGD, whose own weight decay it sets to 0."""
    for p in parameters:
        param_norm = torch.norm(p.data)
        grad_norm = torch.norm(p.grad.data)
        if param_norm != 0 and grad_norm != 0:
            adaptive_lr = trust * param_norm / (grad_norm + param_norm * weight_decay + eps)
            p.grad.data += weight_decay * p.data
            p.grad.data *= adaptive_lr


def train(keys, text):
    """Weights after every step: [step][tensor][element]."""
    parameters = [torch.tensor([start(t, i) for i in range(n)], dtype=torch.float64, requires_grad=True)
                  for t, n in enumerate(SIZES)]
    lr, momentum, decay = keys.get("lr", 0.01), keys.get("momentum", 0.9), keys.get("weight_decay", 0.0)
    name, _, bracket = text.partition("[")
    extras = dict(pair.split("=") for pair in bracket.rstrip("]").split(",") if pair)
    number = lambda key, usual: float(extras.get(key, usual))
    if name in ("adam", "adamw"):
        kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        optimizer = kind(parameters, lr=lr, betas=(number("beta1", 0.9), number("beta2", 0.999)),
                         eps=number("eps", 1e-8), weight_decay=decay)
    else:
        optimizer = torch.optim.SGD(parameters, lr=lr, momentum=momentum, weight_decay=decay if name == "sgd" else 0,
                                    nesterov=extras.get("nesterov") == "on")
    weights = []
    for step in range(STEPS):
        for t, p in enumerate(parameters):
            p.grad = torch.tensor([gradient(t, step, i) for i in range(SIZES[t])], dtype=torch.float64)
        if name == "lars":
            larc(parameters, number("trust", 0.001), decay, number("eps", 1e-9))
        optimizer.step()
        weights.append([p.detach().tolist() for p in parameters])
    return weights


CASES = [
    ({}, "sgd"),
    ({"momentum": 0, "weight_decay": 0.05}, "sgd"),
    ({"lr": 0.1, "weight_decay": 0.05}, "sgd"),
    ({"lr": 0.1, "weight_decay": 0.05}, "sgd[nesterov=on]"),
    ({}, "adam"),
    ({"lr": 0.1, "weight_decay": 0.05}, "adam[beta1=0.8,beta2=0.95,eps=0.001]"),
    ({"weight_decay": 0.05}, "adamw"),
    ({"lr": 0.1, "weight_decay": 0.2}, "adamw[beta1=0,beta2=0.5]"),
    ({"lr": 1.0}, "lars"),
    ({"lr": 1.0, "momentum": 0.0, "weight_decay": 0.05}, "lars[trust=0.02,eps=0.1]"),
    ({"lr": 1.0, "weight_decay": 0.05}, "lars[trust=0.02]"),
]

if __name__ == "__main__":
    rows = [{"optimizer": text, "keys": keys,
             # A few elements of each tensor: the first, one of the midst, the last.
             "weights": [[[t[0], t[len(t) // 2], t[-1]] for t in step] for step in train(keys, text)]}
            for keys, text in CASES]
    path = pathlib.Path(__file__).with_name("optimizers.json")
    path.write_text(json.dumps({"torch": torch.__version__.split("+")[0], "sizes": SIZES, "steps": STEPS, "rows": rows},
                               indent=1) + "\n")
