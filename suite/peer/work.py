"""What parabench hands over (suite/rank/hand_over.h): the case, the network with its first weights, the batches."""
import json
import os

import network
import torch


class Work:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "work.json"), encoding="utf-8") as file:
            document = json.load(file)
        self.case, self.model, self.stages = document["parameters"], document["model"], document["stages"]
        self.pieces, self.batches, self.plan_hash = document["pieces"], document["steps"], document["plan_hash"]
        self.dims = {"samples": document["sample"], "labels": document["labels"]}
        self.types = {"samples": getattr(torch, document["sample_type"]), "labels": torch.int64}
        self.weight_type = getattr(torch, document["weight_type"])
        self.draws = network.Draws(self.case["seed"])

    def numbers(self, name, dtype, count, offset=0):
        """So many numbers of a file, from the offset-th on, in memory of their own."""
        with open(os.path.join(self.folder, name + ".bin"), "rb") as file:
            file.seek(offset * dtype.itemsize)
            return torch.frombuffer(bytearray(file.read(count * dtype.itemsize)), dtype=dtype)

    def weights(self, layers):
        """The first values of these layers' parameters, one after another. `layers`: a range of indices."""
        offset = 0
        for index, layer in enumerate(self.model["layers"]):
            for tensor in layer["parameters"]:
                size = torch.Size(tensor["shape"])
                if index in layers:
                    yield self.numbers("weights", self.weight_type, size.numel(), offset).view(size)
                offset += size.numel()

    def layers(self, indices):
        """The layers as modules with their first weights, in the case's precision and layout."""
        made = [network.Layer(self.model["layers"][index], self.draws) for index in indices]
        values = self.weights(indices)
        for layer in made:
            layer.to(self.weight_type)
            network.load(layer, values)
            if self.case["layout"] == "channels_last":
                layer.to(memory_format=torch.channels_last)
            layer.train()
        return made

    def network(self):
        made = self.layers(range(len(self.model["layers"])))
        network.tie(made, self.model)
        return network.Network(made)

    def tensor(self, name, step, first, count):
        """Samples, or their labels, from the first-th on of a step's batch."""
        size = torch.Size([count] + self.dims[name])
        offset = (step * self.case["batch"] + first) * (size.numel() // count)
        values = self.numbers(name, self.types[name], size.numel(), offset).view(size)
        if values.is_floating_point():
            values = values.to(self.weight_type)
            if self.case["layout"] == "channels_last" and values.dim() == 4:
                values = values.contiguous(memory_format=torch.channels_last)
        return values

    def parts(self, name, first, count):
        """That part of every batch that there is; steps go around them."""
        return [self.tensor(name, step, first, count) for step in range(self.batches)]

    def positions(self):
        """Labels of the whole batch."""
        return self.case["batch"] * torch.Size(self.dims["labels"]).numel()

    def autocast(self):
        return torch.autocast("cpu", torch.bfloat16, enabled=self.case["precision"] == "bf16")

    def sgd(self, parameters):
        return torch.optim.SGD(parameters, lr=self.case["lr"], momentum=self.case["momentum"],
                               weight_decay=self.case["weight_decay"])
