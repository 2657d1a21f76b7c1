#!/usr/bin/env python3
"""Times training steps of PyTorch eager on the networks that the golden files define; prints one JSON line.

  eager_step.py --model transformer --batch 16 --threads 2 [--layers 6] [--hidden 256] [--heads 8] [--sequence 128]
  eager_step.py --model vgg16 | mobilenetv2 --batch 32 --threads 2

fp32, SGD with momentum 0.9, one synthetic batch (CIFAR-10's size; tokens of a vocabulary of 1,000), 3 steps discarded. The
transformer attends by ATen's scaled_dot_product_attention. Needs what tests/models/torch/golden/make_golden.py needs.
"""
import argparse, json, os, statistics, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "torch", "golden"))
import make_golden
import torch

VOCABULARY, CLASSES = 1000, 10


class Attention(make_golden.Attention):
    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


def network_and_batch(a):
    if a.model == "transformer":
        make_golden.CLASSES, make_golden.Attention = VOCABULARY, Attention
        net = make_golden.Transformer(a.layers, a.hidden, a.heads, a.sequence)
        x, y = (torch.randint(0, VOCABULARY, (a.batch, a.sequence)) for _ in range(2))
    else:
        make_golden.CLASSES = CLASSES
        net = make_golden.make_model(a.model, "cifar", 3).float()
        x, y = torch.randn(a.batch, 3, 32, 32), torch.randint(0, CLASSES, (a.batch,))
    return net.train(), x, y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["transformer", "vgg16", "mobilenetv2"], required=True)
    for name, usual in (("batch", 16), ("threads", 2), ("layers", 6), ("hidden", 256), ("heads", 8), ("sequence", 128),
                        ("steps", 10), ("warmup", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    net, x, y = network_and_batch(a)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    times = []
    for step in range(a.warmup + a.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        if step >= a.warmup:
            times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"model": a.model, "batch": a.batch, "threads": a.threads,
                      "median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times)}))


if __name__ == "__main__":
    main()
