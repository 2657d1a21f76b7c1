"""What a user of torch would write for the networks of the comparison, kept running between its turns.

  torch_peer.py resnet18|resnet50 eager|compile

For every line "resident" or "uploaded" on standard input it trains steps and prints one JSON list: their seconds on the
GPU. "resident" trains on one batch that lies on the GPU; "uploaded" copies one pinned batch there in every step.
"""
import json
import sys

import torch
import torchvision

WARMUP, STEPS = 5, 20


def resnet18():
    """For images of 32 x 32: a first convolution of 3 x 3 without stride, and no max pooling."""
    network = torchvision.models.resnet18(num_classes=10)
    network.conv1 = torch.nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
    network.maxpool = torch.nn.Identity()
    return network


NETWORKS = {
    "resnet18": dict(make=resnet18, batch=128, pixels=32, classes=10, layout=torch.contiguous_format, bf16=False),
    "resnet50": dict(make=torchvision.models.resnet50, batch=256, pixels=224, classes=1000,
                     layout=torch.channels_last, bf16=True),
}


class Training:
    def __init__(self, make, batch, pixels, classes, layout, bf16, compiled):
        torch.manual_seed(1)
        self.network = make().cuda().to(memory_format=layout)
        self.forward = torch.compile(self.network) if compiled else self.network
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.bf16 = bf16
        images = torch.randn(batch, 3, pixels, pixels).to(memory_format=layout)
        labels = torch.randint(0, classes, (batch,))
        self.pinned = images.pin_memory(), labels.pin_memory()
        self.resident = images.cuda(), labels.cuda()

    def step(self, uploads):
        images, labels = self.resident
        if uploads:
            images, labels = (tensor.to("cuda", non_blocking=True) for tensor in self.pinned)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.bf16):
            loss = torch.nn.functional.cross_entropy(self.forward(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def seconds(self, uploads):
        for _ in range(WARMUP):
            self.step(uploads)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(STEPS + 1)]
        marks[0].record()
        for mark in marks[1:]:
            self.step(uploads)
            mark.record()
        torch.cuda.synchronize()
        # The other arms need the memory meanwhile.
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        return [a.elapsed_time(b) / 1e3 for a, b in zip(marks, marks[1:])]


def main():
    # As parabench computes: fp32 without TF32, convolutions by cuDNN's fastest algorithm.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    network, arm = sys.argv[1:]
    training = Training(compiled=arm == "compile", **NETWORKS[network])
    for line in sys.stdin:
        print(json.dumps(training.seconds(line.strip() == "uploaded")), flush=True)


if __name__ == "__main__":
    main()
