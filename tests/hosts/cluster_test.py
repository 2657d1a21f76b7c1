"""The cluster of cluster.py comes up, and nothing of it stays. Usage: cluster_test.py [unittest arguments]"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True

import cluster


def surroundings():
    """What of this machine a cluster could leave changed."""
    return {"links": sorted(os.listdir("/sys/class/net")), "mounts": pathlib.Path("/proc/self/mounts").read_text(),
            "hosts": pathlib.Path("/etc/hosts").read_text()}


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.before = surroundings()
        self.folder = tempfile.mkdtemp(prefix="parabench-cluster-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cluster = cluster.Cluster(self.folder + "/c", bound=True)
        self.addCleanup(self.cluster.down)

    def carriers(self):
        return [words for _, words in cluster.processes() if any(str(self.cluster.folder) in word for word in words)]

    def expect_nothing_left(self):
        end = time.monotonic() + 10
        while carriers := self.carriers():
            self.assertLess(time.monotonic(), end, carriers)
            time.sleep(0.05)
        self.assertEqual(surroundings(), self.before)

    def test_hosts_differ_in_all_but_files_and_nothing_stays(self):
        self.cluster.up()
        self.assertEqual(self.cluster.run("n1", ["hostname"]).stdout, "n1\n")
        self.assertEqual(sorted(self.cluster.run("head", ["srun", "-N2", "-n2", "hostname"]).stdout.split()), ["n1", "n2"])
        self.cluster.run("n1", ["touch", "/dev/shm/here"])
        self.assertEqual(self.cluster.run("n2", ["ls", "/dev/shm"]).stdout, "")
        self.assertIn(self.cluster.mark("n1"), self.cluster.run("n1", ["cat", "/proc/1/cmdline"]).stdout)
        self.cluster.down()
        self.expect_nothing_left()
        self.cluster.down()

    def test_a_start_that_fails_leaves_nothing(self):
        write_files = self.cluster.write_files

        def spoilt():
            write_files()
            with open(self.cluster.folder / "slurm.conf", "a") as file:
                file.write("SelectType=select/none_such\n")
        self.cluster.write_files = spoilt
        with self.assertRaises(RuntimeError):
            self.cluster.up()
        self.expect_nothing_left()
        self.assertFalse(self.cluster.folder.exists())

    def test_it_ends_with_a_killed_owner(self):
        owner = subprocess.Popen([sys.executable, "-c", "import sys, time\n"
                                  f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
                                  "sys.dont_write_bytecode = True\nimport cluster\n"
                                  f"cluster.Cluster({str(self.cluster.folder)!r}, bound=True).up()\n"
                                  "print('up', flush=True)\ntime.sleep(600)"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(owner.stdout.readline(), "up\n")
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()
        self.expect_nothing_left()


if __name__ == "__main__":
    if skipped := cluster.skipping(cluster.require):
        sys.exit(skipped)
    unittest.main()
