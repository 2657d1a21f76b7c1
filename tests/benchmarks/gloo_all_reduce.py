"""One rank of all-reduces by Gloo in torch.distributed; started by two_hosts.py on every host, under the environment of
./parabench peers, with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and GLOO_SOCKET_IFNAME set.

  gloo_all_reduce.py BYTES WARMUP ITERATIONS

Rank 0 prints the seconds of each iteration as a list in JSON: the longest that any rank took from a barrier to its own end,
as parabench communicate has them. Sums are checked.
"""
import json
import sys
import time

import torch
import torch.distributed as dist


def main():
    size, warmup, iterations = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    values = torch.empty(size // 4)
    seconds = []
    for iteration in range(warmup + iterations):
        values.fill_(iteration + dist.get_rank())
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(values)
        seconds.append(time.perf_counter() - begin)
        if not torch.all(values == iteration * ranks + ranks * (ranks - 1) / 2):
            sys.exit(f"iteration {iteration}: wrong sums")
    longest = torch.tensor(seconds[warmup:], dtype=torch.float64)
    dist.all_reduce(longest, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(json.dumps(longest.tolist()))
    dist.destroy_process_group()


main()
