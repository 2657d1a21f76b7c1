"""One rank of a launch: trains, and leaves what it measured for the process that started it."""
import os
import resource
import time
import traceback

import replies
import torch


def train(arguments):
    from products import PRODUCTS
    from work import Work

    product, work = PRODUCTS[arguments.product], Work(arguments.work)
    torch.set_num_threads(work.case["threads"])
    ranks = 1 if product.one_process else work.case["np"]
    if not product.one_process:
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{os.path.abspath(arguments.reply)}/rendezvous", rank=arguments.rank,
            world_size=ranks)
    step = product.make(work, arguments.rank, ranks)
    # The losses that are compared are never among the timed steps.
    warmup = max(arguments.warmup, work.batches)
    progress, ends, losses = replies.Progress(arguments.reply, arguments.rank), [], []
    for i in range(warmup + arguments.steps):
        progress.begin(i)
        losses.append(step(i))
        ends.append(time.monotonic())
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    replies.write_rank(arguments.reply, arguments.rank, {"warmup": warmup, "ends": ends, "losses": losses,
                                                         "resident": resident, "cpuset": replies.cpuset()})
    if not product.one_process:
        torch.distributed.barrier()  # nobody leaves while another still reads from it
        torch.distributed.destroy_process_group()


def run(arguments):
    replies.write_start(arguments.reply, arguments.rank)
    try:
        train(arguments)
    except Exception as error:
        traceback.print_exc()
        replies.write_error(arguments.reply, arguments.rank, f"{arguments.product}: {type(error).__name__}: {error}")
        # Threads of a product may wait for other ranks forever.
        os._exit(1)
    return 0
