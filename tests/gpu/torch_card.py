"""What the GPU gives to torch at most: `torch_card.py copies|product` prints one JSON object."""
import json
import statistics
import sys

import torch


def median_s(work, times=10):
    for _ in range(3):
        work()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]
    marks[0].record()
    for mark in marks[1:]:
        work()
        mark.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) / 1e3 for a, b in zip(marks, marks[1:]))


def product():
    """The largest matrix product in bf16."""
    n = 16384
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return {"bf16_product_flops_per_s": 2 * n**3 / median_s(lambda: a @ b)}


def copies():
    """Bytes that arrive per second: within the GPU, and from pinned memory."""
    size = 1 << 28
    to, source, host = (torch.empty(size, dtype=torch.uint8, **place)
                        for place in ({"device": "cuda"}, {"device": "cuda"}, {"pin_memory": True}))
    return {"bytes": size, "device_to_device_bytes_per_s": size / median_s(lambda: to.copy_(source)),
            "host_to_device_bytes_per_s": size / median_s(lambda: to.copy_(host, non_blocking=True))}


if __name__ == "__main__":
    print(json.dumps({"copies": copies, "product": product}[sys.argv[1]]()))
