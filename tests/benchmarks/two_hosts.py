#!/usr/bin/env python3
"""Sums between hosts that are joined by links of 1 Gbit/s, all of them namespaces of this machine (tests/hosts/cluster.py;
needs root, mpirun and iproute2, but no Slurm).

  two_hosts.py BUILD_FOLDER [--hosts N] [--ranks-per-host N] [--gloo PEERS] [option of parabench communicate]...

Runs parabench communicate with that many ranks, by every algorithm unless told otherwise, and prints of each row, as a
line of JSON, its median, the time that the wire of a host takes for the least that has to cross it, its headers (Ethernet
38 and TCP/IP 52 bytes to a packet of 1500) not counted, and the ratio of the two. With --gloo, as many
all-reduces by Gloo follow, of the same bytes among a rank on each host, and each row has the ratio to their median; PEERS is
the environment of ./parabench peers. Ends with 77 where this machine cannot have such hosts.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import cluster

WIRE_BYTES_PER_S = 125e6
USUAL = {"--collective": "all-reduce,reduce-scatter,all-gather",
         "--reduce": "auto,ring,halving-doubling,double-tree,hierarchical,library", "--sizes": "1000,1MB,10MB,44.7MB",
         "--iterations": "7", "--warmup": "1"}


def wire_s(row, hosts):
    """Every host has to send what the others lack, once for each of the two halves of an all-reduce."""
    times = 2 if row["kind"] == "all-reduce" else 1
    return times * (hosts - 1) / hosts * row["bytes"] / WIRE_BYTES_PER_S


def gloo(hosts, python, size, warmup, iterations):
    """Seconds of the iterations of an all-reduce among a rank on each host."""
    script = str(pathlib.Path(__file__).resolve().parent / "gloo_all_reduce.py")
    ranks = [hosts.start(host, ["env", f"RANK={rank}", f"WORLD_SIZE={len(hosts.hosts)}", "MASTER_PORT=29500",
                                f"MASTER_ADDR={hosts.address(hosts.hosts[0])}",
                                f"GLOO_SOCKET_IFNAME={hosts.interface(host)}", python, "-sEB", script, str(size), warmup,
                                iterations], stdout=subprocess.PIPE if rank == 0 else None)
             for rank, host in enumerate(hosts.hosts)]
    out, _ = ranks[0].communicate()
    if any(rank.wait() != 0 for rank in ranks):
        sys.exit("Gloo: a rank failed; its message stands above")
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks-per-host", type=int, default=1)
    parser.add_argument("--gloo", metavar="PEERS")
    arguments, options = parser.parse_known_args()
    for option, value in USUAL.items():
        if option not in options:
            options += [option, value]
    program = str(pathlib.Path(arguments.build).resolve() / "bin" / "parabench")
    beside = {}
    with tempfile.TemporaryDirectory(prefix="parabench-hosts-") as folder:
        results = pathlib.Path(folder, "results.json")
        with cluster.Cluster(os.path.join(folder, "cluster"), arguments.hosts, bound=True, slurm=False) as hosts:
            per_host = arguments.ranks_per_host
            command = [program, "communicate", "--np", str(arguments.hosts * per_host), "--launcher",
                       hosts.launcher(per_host), "--json", str(results), *options]
            ended = hosts.run("head", command, check=False)
            if not results.exists():
                print(ended.stderr, file=sys.stderr)
                return 1
            rows = json.loads(results.read_text())["exchanges"]
            if arguments.gloo:
                python = str(pathlib.Path(arguments.gloo).absolute() / "bin" / "python")
                counts = [options[options.index(name) + 1] for name in ("--warmup", "--iterations")]
                for size in sorted({row["bytes"] for row in rows if row["kind"] == "all-reduce"}):
                    beside[size] = statistics.median(gloo(hosts, python, size, *counts))
    for row in rows:
        if row["time_s"] is None:
            print(json.dumps({name: row[name] for name in ("id", "status", "reason")}))
            continue
        wire, median = wire_s(row, arguments.hosts), row["time_s"]["median"]
        line = {"id": row["id"], "algorithm": row["algorithm"], "hosts": arguments.hosts, "median_s": median,
                "wire_s": round(wire, 7), "of_wire": round(median / wire, 3)}
        if row["kind"] == "all-reduce" and beside:
            line |= {"gloo_s": beside[row["bytes"]], "of_gloo": round(median / beside[row["bytes"]], 3)}
        print(json.dumps(line))
    return ended.returncode


if __name__ == "__main__":
    sys.exit(cluster.skipping(main))
