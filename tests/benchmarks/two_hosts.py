#!/usr/bin/env python3
"""Sums between hosts that are joined by links of 1 Gbit/s, all of them namespaces of this machine (tests/hosts/cluster.py;
needs root, mpirun and iproute2, but no Slurm).

  two_hosts.py BUILD_FOLDER [--hosts N] [--ranks-per-host N] [samples [bytes...]]

Runs reduction_benchmark with that many ranks and prints, for each line of it, the time that the wire of a host takes for
the least that has to cross it, its headers (Ethernet 38 and TCP/IP 52 bytes to a packet of 1500) not counted, and the
ratio of the two. Ends with 77 where this machine cannot have such hosts.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import cluster

WIRE_BYTES_PER_S = 125e6


def wire_s(line, hosts):
    """Every host has to send what the others lack, once for each of the two halves of an all-reduce."""
    times = 2 if line["collective"] == "all_reduce" else 1
    return times * (hosts - 1) / hosts * line["bytes"] / WIRE_BYTES_PER_S


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks-per-host", type=int, default=1)
    parser.add_argument("numbers", nargs="*")
    arguments = parser.parse_intermixed_args()
    program = str(pathlib.Path(arguments.build).resolve() / "benchmarks" / "reduction_benchmark")
    with tempfile.TemporaryDirectory(prefix="parabench-hosts-") as folder:
        hosts = cluster.Cluster(os.path.join(folder, "cluster"), arguments.hosts, bound=True, slurm=False)
        try:
            hosts.up()
            per_host = arguments.ranks_per_host
            places = ",".join(f"{host}:{per_host}" for host in hosts.hosts)
            command = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(hosts.folder / "agent"), "-np",
                       str(arguments.hosts * per_host), "--host", places, "--bind-to", "none", program,
                       *arguments.numbers]
            output = hosts.run("head", command).stdout
        except cluster.Unavailable as reason:
            print(f"skipped: {reason}", file=sys.stderr)
            return cluster.SKIP
        finally:
            hosts.down()
    for text in output.splitlines():
        line = json.loads(text)
        wire = wire_s(line, arguments.hosts)
        print(json.dumps({**line, "hosts": arguments.hosts, "wire_s": round(wire, 7),
                          "of_wire": round(line["wall_s"]["median"] / wire, 3)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
