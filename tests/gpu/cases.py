"""The cases of the check, by part."""

CIFAR = "resnet18/cifar10-synthetic"
IMAGENET = "resnet50/imagenet-synthetic"
GPU = "device:cuda"
THREADS = f"{GPU}/comm:threads"  # the ranks share the GPU

PIPELINES = ("gpipe", "1f1b", "dapple", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "dualpipev", "chimera",
             "pipedream", "pipedream-2bw")
PARALLEL = ("data-parallel", "horovod", "dear", "local-sgd", "parameter-server", "zero1", "zero2", "zero3", "model-parallel", *PIPELINES)


def allows(strategy, ranks):
    """Chimera has two pipelines over an even number of ranks, a server needs a worker."""
    return (strategy != "chimera" or ranks % 2 == 0) and (strategy != "parameter-server" or ranks > 1)


def case(strategy, ranks, rest, batch=32):
    # DualPipeV wants two micro-batches per rank.
    micro = f"/micro:{2 * ranks}" if strategy == "dualpipev" and ranks > 2 else ""
    return f"{CIFAR}/{strategy}/np:{ranks}/batch:{batch}{micro}/{rest}"


SINGLE = (
    case("sequential", 1, GPU), case("sequential", 1, f"precision:bf16/layout:channels_last/{GPU}"),
    case("sequential", 1, f"{GPU}/graph:on"), case("gpipe", 1, f"{GPU}/graph:on"), case("zb-h1", 1, f"{GPU}/graph:on"))
VARIANTS = (
    case("data-parallel", 4, THREADS, batch=33), case("gpipe", 4, f"micro:8/{THREADS}", batch=33),
    case("zero3", 4, f"shard:2/{THREADS}"), case("data-parallel", 4, f"order:priority/{THREADS}"),
    case("data-parallel", 4, f"sync_bn:on/{THREADS}", batch=33), case("zero3", 2, f"sync_bn:on/{THREADS}"),
    case("1f1b", 4, f"dp:2/{THREADS}"), case("1f1b", 2, f"recompute:all/{THREADS}"),
    case("pipedream[replicas=2-1]", 3, THREADS), case("parameter-server[mode=async]", 3, THREADS),
    case("parameter-server[mode=stale]", 3, THREADS), case("parameter-server[servers=2,cut=tensors]", 4, THREADS))
# Two ranks first: where all else fails, they say most.
GATE = SINGLE + VARIANTS + tuple(case(strategy, ranks, THREADS) for ranks in (2, 4, 3, 1) for strategy in PARALLEL
                                 if allows(strategy, ranks))

WHOLE_STEP = f"{CIFAR}/sequential/np:1/batch:128/{GPU}"
WITH_GRAPH = f"{WHOLE_STEP}/graph:on"
LARGE = f"{IMAGENET}/sequential/np:1/batch:256/precision:bf16/layout:channels_last/{GPU}"
PREDICT = (WHOLE_STEP, WITH_GRAPH, LARGE, f"{CIFAR}/data-parallel/np:2/batch:128/{THREADS}",
           f"{CIFAR}/gpipe/np:2/batch:128/{THREADS}", f"{CIFAR}/gpipe/np:4/batch:128/{THREADS}")
MEMORY = (WHOLE_STEP, WITH_GRAPH, LARGE, f"{CIFAR}/sequential/np:1/batch:128/precision:bf16/layout:channels_last/{GPU}",
          f"{CIFAR}/gpipe/np:2/batch:128/{THREADS}", f"{CIFAR}/gpipe/np:2/batch:128/recompute:all/{THREADS}",
          f"{CIFAR}/1f1b/np:2/batch:128/micro:8/{THREADS}", f"{CIFAR}/pipedream/np:2/batch:128/{THREADS}")

NCCL = tuple(case(strategy, 1, f"{GPU}/comm:nccl") for strategy in PARALLEL if allows(strategy, 1))
NCCL_TOO_FEW_GPUS = case("data-parallel", 2, f"{GPU}/comm:nccl")

# A network against torch. The loader threads fill what is uploaded, which torch's arm, with one batch made beforehand,
# is spared.
RESIDENT, UPLOADED = "input:resident", "input:host/loader:8"
PEERS = {
    "resnet18": {"resident": f"{WITH_GRAPH}/{RESIDENT}", "uploaded": f"{WITH_GRAPH}/{UPLOADED}"},
    "resnet50": {"resident": f"{LARGE}/{RESIDENT}", "uploaded": f"{LARGE}/{UPLOADED}"},
}

# What has to be calibrated before a part can predict, or compare.
CALIBRATED = {
    "memory": MEMORY,
    "predict": PREDICT,
    "transfers": PREDICT,
    "peers": (WITH_GRAPH, LARGE),
}
CALIBRATE = tuple(dict.fromkeys(PREDICT + MEMORY))


def every_case():
    compared = [one for network in PEERS.values() for one in network.values()]
    return list(dict.fromkeys([*GATE, *PREDICT, *MEMORY, *NCCL, NCCL_TOO_FEW_GPUS, *CALIBRATE, *compared]))
