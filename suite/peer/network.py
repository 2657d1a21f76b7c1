"""The network of a case, built of torch's own modules from the model as JSON (models/spec/model_json.h)."""
import collections

import torch
from torch import nn
from torch.nn import functional as F


class Draws:
    """Which elements dropouts leave out. During the first steps, whose losses are compared, by parabench's counters
    (base/random.h); afterwards by torch's own dropout."""

    def __init__(self, seed):
        self.seed, self.compared, self.step, self.first_sample = seed, True, -1, 0

    def begin(self, step, first_sample, compared):
        self.step, self.first_sample, self.compared = step, first_sample, compared


def int64(number):
    return number - (1 << 64) if number >= 1 << 63 else number


INCREMENT = 0x9E3779B97F4A7C15
FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def shifted(x, bits):
    """Unsigned x >> bits of int64."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix64(x):
    """splitmix64's output function, of an int or of a tensor of int64."""
    for bits, factor in FACTORS:
        if isinstance(x, int):
            x = ((x ^ (x >> bits)) * factor) & (2**64 - 1)
        else:
            x = (x ^ shifted(x, bits)) * int64(factor)
    return x ^ (x >> 31 if isinstance(x, int) else shifted(x, 31))


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


class Dropout(nn.Module):
    def __init__(self, name, operation, draws):
        super().__init__()
        self.name, self.p, self.channels, self.draws = name, operation["probability"], operation["channels"], draws
        self.step, self.seen = -1, 0

    def mask(self, x):
        sizes = list(x.shape[:2]) + [1, 1] if self.channels else list(x.shape)
        per_sample = torch.Size(sizes[1:]).numel()
        if self.step != self.draws.step:
            self.step, self.seen = self.draws.step, 0
        first = (self.draws.first_sample + self.seen) * per_sample
        self.seen += sizes[0]
        base = mix64(mix64((fnv1a64(self.name) + INCREMENT) & (2**64 - 1)) ^ self.draws.seed)
        counters = torch.arange(first + 1, first + 1 + sizes[0] * per_sample) * int64(INCREMENT) + int64(base)
        left = shifted(mix64(counters), 11) >= -int(-self.p * 2**53 // 1)
        return left.to(x.dtype).mul_(1 / (1 - self.p)).view(sizes)

    def forward(self, x):
        if self.draws.compared:
            return x * self.mask(x)
        return F.dropout2d(x, self.p) if self.channels else F.dropout(x, self.p)


class BatchNorm(nn.BatchNorm2d):
    """Of rows of features, too."""

    def _check_input_dim(self, input):
        pass


class Positions(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, features))

    def forward(self, x):
        return x + self.weight[: x.shape[1]].to(x.dtype)


class Attention(nn.Module):
    def __init__(self, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal

    def forward(self, x):
        samples, length, features = x.shape
        parts = x.view(samples, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(*parts, is_causal=self.causal)
        return y.transpose(1, 2).reshape(samples, length, features // 3)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def instance_norm(groups):
    return lambda x: F.instance_norm(x.contiguous().view(x.shape[0], groups, -1, x.shape[3])).view(x.shape)


# A module for each operation of models/spec/operation.h. `over`: its first input may be written over.
MAKERS = {
    "Conv2d": lambda o, over: nn.Conv2d(o["in"], o["out"], o["kernel"], o["stride"], o["padding"], groups=o["groups"],
                                        bias=o["bias"]),
    "BatchNorm": lambda o, over: BatchNorm(o["channels"]),
    "LayerNorm": lambda o, over: nn.LayerNorm(o["features"]),
    "GroupNorm": lambda o, over: nn.GroupNorm(o["groups"], o["channels"]) if o["affine"]
    else Function(instance_norm(o["groups"])),
    "Linear": lambda o, over: nn.Linear(o["in"], o["out"], bias=o["bias"]),
    "Embedding": lambda o, over: nn.Embedding(o["entries"], o["features"]),
    "Positions": lambda o, over: Positions(o["length"], o["features"]),
    "Attention": lambda o, over: Attention(o["heads"], o["causal"]),
    "Relu": lambda o, over: nn.ReLU(inplace=over),
    "Relu6": lambda o, over: nn.ReLU6(inplace=over),
    "LeakyRelu": lambda o, over: nn.LeakyReLU(inplace=over),
    "Gelu": lambda o, over: nn.GELU(approximate="tanh"),
    "MaxPool": lambda o, over: nn.MaxPool2d(o["kernel"], o["stride"], o["padding"]),
    "AveragePool": lambda o, over: nn.AvgPool2d(o["kernel"], o["stride"], o["padding"], count_include_pad=False),
    "AdaptiveAveragePool": lambda o, over: nn.AdaptiveAvgPool2d(o["side"]),
    "GlobalAveragePool": lambda o, over: Function(lambda x: x.mean((2, 3)) if x.dim() == 4 else x),
    "Flatten": lambda o, over: nn.Flatten(),
    "Upsample": lambda o, over: nn.Upsample(scale_factor=o["factor"]),
    "Pad": lambda o, over: nn.ZeroPad2d((o["left"], o["right"], o["top"], o["bottom"])),
    "Add": lambda o, over: Function((lambda a, b: a.add_(b)) if over else torch.add),
    "Concat": lambda o, over: Function(lambda *inputs: torch.cat(inputs, 1)),
}
KEPT_NOWHERE = {"Conv2d", "BatchNorm", "GroupNorm", "Linear", "Add"}  # whose backward does not read their output


class Unsupported(Exception):
    """An operation that has no module here."""


class Layer(nn.Module):
    """y = layer(x); what skips layers is moved out of and into `ports`."""

    def __init__(self, spec, draws):
        super().__init__()
        self.inputs = [node["inputs"] for node in spec["nodes"]]
        self.takes, self.makes = spec["takes"], spec["makes"]
        self.parameter_names = [tensor["name"] for tensor in spec["parameters"]]
        readers = collections.Counter(value for inputs in self.inputs for value in inputs)
        readers.update(made["value"] for made in self.makes)
        types = [node["operation"]["type"] for node in spec["nodes"]]
        self.nodes = nn.ModuleList()
        self.names = [node["name"] for node in spec["nodes"]]
        for node, inputs in zip(spec["nodes"], self.inputs):
            operation, first = node["operation"], inputs[0]
            over = first >= 0 and readers[first] == 1 and types[first] in KEPT_NOWHERE
            if operation["type"] == "Dropout":
                self.nodes.append(Dropout(node["name"], operation, draws))
            elif operation["type"] in MAKERS:
                self.nodes.append(MAKERS[operation["type"]](operation, over))
            else:
                raise Unsupported(f"operation {operation['type']} of {node['name']} has no module here")
        self.last_reader = {value: at for at, inputs in enumerate(self.inputs) for value in inputs}
        for made in self.makes:
            self.last_reader[made["value"]] = len(self.inputs)

    def place(self, name):
        """The module and the attribute of a parameter."""
        node, attribute = name.rsplit(".", 1)
        return self.nodes[self.names.index(node)], attribute

    def forward(self, x, ports=None):
        values = {-1: x}
        for port, name in enumerate(self.takes):
            values[-2 - port] = ports.pop(name)
        for at, (node, inputs) in enumerate(zip(self.nodes, self.inputs)):
            y = node(*[values[value] for value in inputs])
            for value in inputs:
                if self.last_reader[value] == at:
                    values.pop(value, None)
            values[at] = y
        for made in self.makes:
            ports[made["port"]] = values[made["value"]]
        return y


class Network(nn.Module):
    """Layers one after another."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        ports = {}
        for layer in self.layers:
            x = layer(x, ports)
        return x


def load(layer, values):
    """The first values of the layer's parameters, from an iterator over all tensors of its model."""
    with torch.no_grad():
        for name in layer.parameter_names:
            module, attribute = layer.place(name)
            getattr(module, attribute).copy_(next(values))


def tie(layers, model):
    """One tensor in both layers that share one."""
    if model["tie"] is None:
        return
    (module, attribute), copy = (layers[at].place(layers[at].parameter_names[parameter])
                                 for at, parameter in (model["tie"]["original"], model["tie"]["copy"]))
    setattr(*copy, getattr(module, attribute))


def cross_entropy(output, labels, reduction):
    if output.dim() == 3:  # its classes come last, torch wants them second
        output, labels = output.flatten(0, 1), labels.flatten()
    return F.cross_entropy(output, labels, reduction=reduction)
