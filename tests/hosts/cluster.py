#!/usr/bin/env python3
"""Several hosts under a real Slurm on one machine, for tests.

  cluster.py up FOLDER [--hosts N]   a controller `head` and hosts n1 ... nN; FOLDER must not exist
  cluster.py run FOLDER HOST WORD... runs a command on one of them
  cluster.py link FOLDER HOST up|down
  cluster.py down FOLDER             takes all of it down; does nothing where nothing is up

Each host has a network, host name, process table, System V memory, /dev/shm and /run/pmix of its own, and is joined to
the others by a link of 1 Gbit/s; files are shared. All of it lives in namespaces below one process (the init of `head`),
whose end takes processes, links and mounts with it: nothing can be left, whatever happened. The machine's own network,
/etc/hosts and process table are never touched. FOLDER holds configuration, logs, and `agent`, which mpirun on `head` can
use to start its daemons (OMPI_MCA_plm_rsh_agent).

Needs root and namespaces, and Debian's slurm-wlm, munge, libpmix2 and iproute2. Exit code 77 where these are missing.
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time

SKIP = 77  # what CTest takes for "skipped"
NETWORK = "10.9.0"
LINK_RATE = "1gbit"
PATIENCE_S = 30
NAMESPACES = ["--mount", "--net", "--pid", "--uts", "--ipc"]
SBIN = "/usr/sbin:/sbin"


class Unavailable(Exception):
    """This machine cannot do it; the text says why."""


def require(slurm=True):
    """Raises Unavailable where the cluster cannot be had, with Slurm or without."""
    if os.geteuid() != 0:
        raise Unavailable("needs root: it makes namespaces and network links")
    path = os.environ.get("PATH", "") + ":" + SBIN
    packages = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux",
                "setpriv": "util-linux"}
    if slurm:
        packages |= {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm", "munged": "munge"}
    missing = sorted({package for tool, package in packages.items() if not shutil.which(tool, path=path)})
    places = ("/usr/lib*", "/usr/lib*/*", "/usr/lib*/*/pmix*/lib")
    if slurm and not any(glob.glob(f"{place}/libpmix.so.2") for place in places):
        missing.append("libpmix2")
    if missing:
        raise Unavailable("missing packages: " + " ".join(missing))
    attempt = subprocess.run(["unshare", *NAMESPACES, "--fork", "--mount-proc", "ip", "link", "add", "br0", "type",
                              "bridge"], capture_output=True, text=True, env={**os.environ, "PATH": path})
    if attempt.returncode != 0:
        raise Unavailable("no namespaces with networks of their own: " + attempt.stderr.strip())


def skipping(main):
    """The exit code of `main`, SKIP with the reason on stderr where the machine cannot have a cluster."""
    try:
        return main()
    except Unavailable as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return SKIP


def processes():
    """(pid, words of its command line) of every process."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = pathlib.Path("/proc", entry, "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            continue
        yield int(entry), [word.decode(errors="replace") for word in words]


def numbers_of(pid):
    """The process' number here and in each namespace below, down to its own."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return [int(n) for n in next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]]


class Cluster:
    """In a `with` statement it is up within, and down after it, however that ends."""

    def __init__(self, folder, hosts=2, bound=False, slurm=True, cores_each=None):
        """`bound`: it ends with this process, however that ends. `slurm`: with its daemons, or hosts and `agent` alone.
        `cores_each`: so many of the machine's cores are each host's own (head has those of n1), where commands are
        started by `run`, `start`, `agent` and Slurm; None: every host has all of them, and first ranks of hosts share
        one."""
        self.folder = pathlib.Path(folder).absolute()
        self.bound = bound
        self.slurm = slurm
        self.cores_each = cores_each
        self.started = []  # by this object
        self.hosts = [f"n{i + 1}" for i in range(hosts)]

    # Processes are found by what they carry in their command line, never by a number kept in a file, which another
    # process may bear by now.
    def mark(self, host):
        return f"parabench-host:{self.folder}:{host}"

    def init_of(self, host):
        """The host's first process, None where there is none."""
        for pid, words in processes():
            if self.mark(host) in words and words[0] == "sh":
                try:
                    numbers = numbers_of(pid)
                except (OSError, StopIteration):
                    continue
                if numbers[-1] == 1:
                    return pid
        return None

    def address(self, host):
        return f"{NETWORK}.{1 if host == 'head' else 11 + self.hosts.index(host)}"

    def interface(self, host):
        """The name of the host's own end of its link."""
        links = json.loads(self.run(host, ["ip", "-j", "address"]).stdout)
        return next(link["ifname"] for link in links if any(a["local"] == self.address(host) for a in link["addr_info"]))

    def environment(self):
        path = os.environ.get("PATH", "/usr/bin:/bin") + ":" + SBIN
        # Nothing of a batch system or an MPI around the test may be seen inside.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMIX_", "PMI_"))}
        return {**inherited, "PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def words(self, host, command):
        init = self.init_of(host)
        if init is None:
            raise RuntimeError(f"{host} is not up")
        return ["nsenter", "-t", str(init), *NAMESPACES, "--wd=" + os.getcwd(), "--", *self.on_cores(host), *command]

    def on_cores(self, host):
        """The words that keep a command on the host's own cores."""
        if not self.cores_each:
            return []
        first = self.cores_each * (0 if host == "head" else self.hosts.index(host))
        return ["taskset", "-c", f"{first}-{first + self.cores_each - 1}"]

    def launcher(self, per_host=1):
        """What parabench on head starts ranks with, so many on each host."""
        places = ",".join(f"{host}:{per_host}" for host in self.hosts)
        return (f"mpirun --allow-run-as-root --mca plm_rsh_agent {self.folder}/agent -np {{np}} --host {places} "
                "--bind-to none {program}")

    def run(self, host, command, check=True, **options):
        """As subprocess.run, on the host; the output is text."""
        options = {"env": self.environment(), "capture_output": True, "text": True, **options}
        result = subprocess.run(self.words(host, command), **options)
        if check and result.returncode != 0:
            raise RuntimeError(f"on {host}: {' '.join(command)} ended with {result.returncode}:\n"
                               f"{result.stdout}{result.stderr}{self.logs()}")
        return result

    def start(self, host, command, **options):
        return subprocess.Popen(self.words(host, command), **{"env": self.environment(), "text": True, **options})

    def logs(self):
        lines = []
        for log in sorted(self.folder.glob("log/*")):
            last = log.read_text(errors="replace").splitlines()[-5:]
            lines += [f"{log.name}: {line}" for line in last]
        return "\n".join(lines)

    def wait_until(self, what, ready):
        end = time.monotonic() + PATIENCE_S
        while not ready():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {PATIENCE_S} s\n{self.logs()}")
            time.sleep(0.1)

    def up(self):
        require(self.slurm)
        self.folder.mkdir(parents=True)
        try:
            self.write_files()
            self.start_head()
            for host in self.hosts:
                self.start_host(host)
            if self.slurm:
                self.start_daemons()
        except BaseException:
            self.down()
            raise
        return self

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def start_init(self, host, below, script):
        """A new set of namespaces, whose first process sets itself up, then only reaps orphans. In a session of its own:
        a Ctrl-C at the terminal is for the test, which takes the cluster down."""
        words = ["unshare", *NAMESPACES, "--fork", "--kill-child=KILL", "--mount-proc", "--propagation", "private", "sh", "-euc",
                 script + "\ntouch \"$1/ready-$2\"\nset +e\nwhile :; do sleep 86400 & wait; done", "sh",
                 str(self.folder), host, self.mark(host)]
        if below:
            words = self.words(below, words)
        elif self.bound:
            words = ["setpriv", "--pdeathsig", "KILL", *words]
        with open(self.folder / f"log/init-{host}", "w") as log:
            self.started.append(subprocess.Popen(words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, start_new_session=True))
        self.wait_until(f"the first process of {host}", (self.folder / f"ready-{host}").exists)

    def start_head(self):
        self.start_init("head", None, textwrap.dedent(f"""\
            hostname head
            mount --bind "$1/hosts" /etc/hosts
            ip link set lo up
            ip link add br0 type bridge
            ip address add {self.address("head")}/24 dev br0
            ip link set br0 up"""))

    def start_host(self, host):
        self.start_init(host, "head", textwrap.dedent("""\
            hostname "$2"
            mount -t tmpfs tmpfs /dev/shm
            mkdir -p /run/pmix
            mount -t tmpfs tmpfs /run/pmix
            ip link set lo up"""))
        init = self.init_of(host)
        (self.folder / f"pid-{host}").write_text(f"{numbers_of(init)[1]}\n")
        (self.folder / f"cores-{host}").write_text(" ".join(self.on_cores(host)) + "\n")
        # Only the network of head is entered: the host's number is that of the machine's process table.
        in_head = ["nsenter", "-t", str(self.init_of("head")), "--net"]
        port, wire = f"port-{host}", f"wire-{host}"
        for words in (["ip", "link", "add", port, "type", "veth", "peer", "name", wire],
                      ["ip", "link", "set", port, "master", "br0", "up"],
                      ["ip", "link", "set", wire, "netns", str(init)]):
            subprocess.run(in_head + words, check=True, env=self.environment())
        self.run(host, ["ip", "address", "add", f"{self.address(host)}/24", "dev", wire])
        self.run(host, ["ip", "link", "set", wire, "up"])
        for node, device in (("head", port), (host, wire)):
            self.run(node, ["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", LINK_RATE, "burst", "1mb",
                            "latency", "10ms"])

    def link(self, host, state):
        """Down as behind a dead switch: what the host sends is lost, its own wire looks well."""
        self.run("head", ["ip", "link", "set", f"port-{host}", *(["master", "br0"] if state == "up" else ["nomaster"])])

    def start_daemons(self):
        folder = str(self.folder)
        self.run("head", ["munged", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                          f"--pid-file={folder}/munged.pid", f"--log-file={folder}/log/munged",
                          f"--seed-file={folder}/munge.seed"])
        self.run("head", ["slurmctld", "-c", "-i"])
        for host in self.hosts:
            self.run(host, ["slurmd", "-N", host])

        def idle():
            states = self.run("head", ["sinfo", "-h", "-N", "-o", "%T"], check=False).stdout.split()
            return states == ["idle"] * len(self.hosts)
        self.wait_until("idle hosts in Slurm", idle)

    def write_files(self):
        for name in ("log", "spool", "state"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        names = "".join(f"{self.address(host)} {host}\n" for host in ["head", *self.hosts])
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + names)
        agent = self.folder / "agent"
        agent.write_text(textwrap.dedent(f"""\
            #!/bin/sh
            # ssh's place for mpirun on head: agent HOST WORD...
            host=$1
            shift
            exec nsenter -t "$(cat "{self.folder}/pid-$host")" {' '.join(NAMESPACES)} --wd="$PWD" -- \\
                $(cat "{self.folder}/cores-$host") sh -c "$*"
            """))
        agent.chmod(0o755)
        cores = os.cpu_count() or 1
        nodes = "\n".join(f"NodeName={host} NodeAddr={self.address(host)} CPUs={cores} RealMemory=1000"
                          for host in self.hosts)
        # SlurmdTimeout: how soon Slurm gives up a host that does not answer and ends its jobs (300 s as shipped).
        (self.folder / "slurm.conf").write_text(textwrap.dedent("""\
            ClusterName=parabench
            SlurmctldHost=head({address})
            SlurmUser=root
            SlurmdUser=root
            AuthInfo=socket={folder}/munge.socket
            MpiDefault=none
            ProctrackType=proctrack/linuxproc
            TaskPlugin=task/none
            JobAcctGatherType=jobacct_gather/none
            SelectType=select/cons_tres
            SelectTypeParameters=CR_Core
            SlurmdParameters=config_overrides
            ReturnToService=2
            SlurmdTimeout=10
            KillWait=2
            SchedulerParameters=batch_sched_delay=0,sched_interval=1
            StateSaveLocation={folder}/state
            SlurmctldPidFile={folder}/slurmctld.pid
            SlurmctldLogFile={folder}/log/slurmctld
            SlurmdSpoolDir={folder}/spool/%n
            SlurmdPidFile={folder}/slurmd-%n.pid
            SlurmdLogFile={folder}/log/slurmd-%n
            {nodes}
            PartitionName=all Nodes={hosts} Default=YES State=UP
            """).format(address=self.address("head"), folder=self.folder, nodes=nodes, hosts=",".join(self.hosts)))
        (self.folder / "mpi.conf").write_text("PMIxCliTmpDirBase=/run/pmix\n")

    def down(self):
        """The kernel kills what lives in a process table whose first process ends."""
        init = self.init_of("head")
        if init is not None:
            os.kill(init, signal.SIGKILL)
            self.wait_until("the end of head", lambda: self.init_of("head") is None)
            self.wait_until("the end of the hosts", lambda: not any(self.init_of(host) for host in self.hosts))
        while self.started:
            self.started.pop().wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("up", "run", "link", "down"):
        command = commands.add_parser(name)
        command.add_argument("folder")
        if name == "up":
            command.add_argument("--hosts", type=int, default=2)
        if name in ("run", "link"):
            command.add_argument("host")
        if name == "run":
            command.add_argument("words", nargs=argparse.REMAINDER)
        if name == "link":
            command.add_argument("state", choices=["up", "down"])
    arguments = parser.parse_args()
    cluster = Cluster(arguments.folder, getattr(arguments, "hosts", 2))
    try:
        if arguments.command == "up":
            cluster.up()
        elif arguments.command == "run":
            return cluster.run(arguments.host, arguments.words, check=False, capture_output=False).returncode
        elif arguments.command == "link":
            cluster.link(arguments.host, arguments.state)
        else:
            cluster.down()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(skipping(main))
