"""How each product trains: make(work, rank, ranks) returns step(i), which trains one step and returns this rank's share
of its mean loss."""
import network
import torch


def replica(work, rank, ranks):
    """A copy of the network, and the rank's part of every batch: (net, samples, labels, first sample)."""
    sizes = [sum(pieces) for pieces in work.pieces]
    first = sum(sizes[:rank])
    return (work.network(), work.parts("samples", first, sizes[rank]), work.parts("labels", first, sizes[rank]), first)


def share_of_loss(work, output, labels):
    """The part of the batch's mean loss that these labels make up."""
    return network.cross_entropy(output, labels, "sum") / work.positions()


def data_parallel(wrap):
    """Trains copies whose gradients `wrap`ped modules average: it returns the module, how to begin a step, how to go
    backward from a loss, how to update."""

    def make(work, rank, ranks):
        net, samples, labels, first = replica(work, rank, ranks)
        net, begin, backward, update = wrap(work, net, ranks)

        def step(i):
            work.draws.begin(i, i * work.case["batch"] + first, i < work.batches)
            begin()
            with work.autocast():
                loss = share_of_loss(work, net(samples[i % work.batches]), labels[i % work.batches])
            # The product averages over the ranks what is to be summed.
            backward(loss * ranks)
            update()
            return loss.item()

        return step

    return make


def with_sgd(work, net):
    optimizer = work.sgd(net.parameters())
    return net, lambda: optimizer.zero_grad(set_to_none=True), torch.Tensor.backward, optimizer.step


def torch_ddp(work, net, ranks):
    from torch.nn.parallel import DistributedDataParallel

    # Its own default has a first bucket of 1 MiB, which no given size has.
    usual = work.case["bucket"] == 25 * 2**20
    given = {} if usual else {"bucket_cap_mb": work.case["bucket"] / 2**20}
    return with_sgd(work, DistributedDataParallel(net, gradient_as_bucket_view=True, **given))


def fsdp2(work, net, ranks):
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.init_device_mesh("cpu", (ranks,))
    for layer in net.layers:
        if layer.parameter_names:
            fully_shard(layer, mesh=mesh)
    return with_sgd(work, fully_shard(net, mesh=mesh))


def deepspeed(stage):
    def wrap(work, net, ranks):
        import deepspeed as product

        samples = max(sum(pieces) for pieces in work.pieces)
        engine = product.initialize(model=net, optimizer=work.sgd(net.parameters()), dist_init_required=False, config={
            "train_micro_batch_size_per_gpu": samples,
            "gradient_accumulation_steps": 1,
            "gradient_clipping": 0.0,
            "zero_allow_untested_optimizer": True,
            "zero_optimization": {"stage": stage},
        })[0]
        return engine, lambda: None, engine.backward, engine.step

    return data_parallel(wrap)


def stage_class(pipelining):
    class Stage(pipelining.PipelineStage):
        def _get_init_p2p_neighbors_ops(self):
            """The greeting before the first step, without that to itself: Gloo has no way from a rank to itself, where
            the two stages of a V meet."""
            return [op for op in super()._get_init_p2p_neighbors_ops() if op.group_peer != self.group_rank]

    return Stage


def torch_pipeline(schedule_of):
    """`schedule_of` makes the schedule of a rank's stages: f(torch.distributed.pipelining, stages, micro, loss)."""

    def make(work, rank, ranks):
        from torch.distributed import pipelining

        mine = [s for s, stage in enumerate(work.stages) if stage["rank"] == rank]
        stages, parameters = [], []
        for s in mine:
            first = work.stages[s]["first_layer"]
            part = torch.nn.Sequential(*work.layers(range(first, first + work.stages[s]["layers"])))
            parameters += part.parameters()
            stages.append(stage_class(pipelining)(part, s, len(work.stages), torch.device("cpu")))
        batch = work.case["batch"]
        samples = work.parts("samples", 0, batch) if 0 in mine else None
        labels = work.parts("labels", 0, batch) if len(work.stages) - 1 in mine else None
        schedule = schedule_of(pipelining, stages, work.case["micro"],
                               lambda output, target: network.cross_entropy(output, target, "mean"))
        optimizer = work.sgd(parameters) if parameters else None

        def step(i):
            work.draws.begin(i, i * batch, i < work.batches)
            if optimizer:
                optimizer.zero_grad(set_to_none=True)
            losses = []
            given = [samples[i % work.batches]] if samples else []
            wanted = {"target": labels[i % work.batches], "losses": losses} if labels else {}
            with work.autocast():
                schedule.step(*given, **wanted)
            if optimizer:
                optimizer.step()
            return torch.stack(losses).mean().item() if losses else 0.0

        return step

    return make


def torchgpipe(work, rank, ranks):
    import torchgpipe as product

    layers = work.layers(range(len(work.model["layers"])))
    net = product.GPipe(torch.nn.Sequential(*layers), balance=[stage["layers"] for stage in work.stages],
                        devices=["cpu"] * len(work.stages), chunks=work.case["micro"], checkpoint="never")
    batch = work.case["batch"]
    samples, labels = work.parts("samples", 0, batch), work.parts("labels", 0, batch)
    optimizer = work.sgd(net.parameters())

    def step(i):
        work.draws.begin(i, i * batch, i < work.batches)
        optimizer.zero_grad(set_to_none=True)
        with work.autocast():
            loss = network.cross_entropy(net(samples[i % work.batches]), labels[i % work.batches], "mean")
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


class Product:
    def __init__(self, make, packages, one_process=False):
        self.make, self.packages, self.one_process = make, packages, one_process


PRODUCTS = {
    "torch-ddp": Product(data_parallel(torch_ddp), ["torch"]),
    "deepspeed-zero1": Product(deepspeed(1), ["torch", "deepspeed"]),
    "deepspeed-zero2": Product(deepspeed(2), ["torch", "deepspeed"]),
    "deepspeed-zero3": Product(deepspeed(3), ["torch", "deepspeed"]),
    "fsdp2": Product(data_parallel(fsdp2), ["torch"]),
    "torch-gpipe": Product(torch_pipeline(lambda p, s, m, loss: p.ScheduleGPipe(s[0], m, loss_fn=loss)), ["torch"]),
    "torch-1f1b": Product(torch_pipeline(lambda p, s, m, loss: p.Schedule1F1B(s[0], m, loss_fn=loss)), ["torch"]),
    "torch-interleaved": Product(
        torch_pipeline(lambda p, s, m, loss: p.ScheduleInterleaved1F1B(s, m, loss_fn=loss)), ["torch"]),
    "torch-zbv": Product(torch_pipeline(lambda p, s, m, loss: p.ScheduleZBVZeroBubble(s, m, loss_fn=loss)), ["torch"]),
    "torchgpipe": Product(torchgpipe, ["torch", "torchgpipe"], one_process=True),
}
