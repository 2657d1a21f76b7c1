"""parabench on several hosts: under a real Slurm and through a launch agent, on the cluster of cluster.py.
Usage: hosts_test.py BIN_FOLDER STOP_AT_START_LIBRARY [unittest arguments]. Ends with 77 where this machine cannot have
such a cluster."""
import glob
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True

import cluster

NETWORK = "mlp[layers=2,hidden=32]/mnist-synthetic"
CASES = [f"{NETWORK}/data-parallel/np:2/batch:8", f"{NETWORK}/1f1b/np:2/batch:8", f"{NETWORK}/zero1/np:2/batch:8"]
LAUNCH_S = 120  # a launch takes some 2 s; other tests may hold the cores
NOTICED_S = 60  # a lost host, its launch's end included: watchdog, then the launcher's own tidying


class OnHosts(unittest.TestCase):
    cores_each = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="parabench-hosts-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cluster = cluster.Cluster(self.path("cluster"), bound=True, cores_each=self.cores_each)
        self.addCleanup(self.cluster.down)
        self.cluster.up()
        os.mkdir(self.path("tmp"))
        # Threads that wait leave the cores alone: spinning, they take several times as long where other programs run.
        self.environment = {**self.cluster.environment(), "XDG_CACHE_HOME": self.path("cache"),
                            "TMPDIR": self.path("tmp"), "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}

    def path(self, name):
        return os.path.join(self.folder, name)

    def words(self, *words):
        return [f"{BIN}/parabench", "run", *words, "--json", self.path("results.json")]

    def run_on_head(self, command, **variables):
        """(exit code, stdout and stderr)"""
        with open(self.path("output"), "w+") as output:
            ended = self.cluster.run("head", command, check=False, capture_output=False, stdout=output, stderr=output,
                                     env={**self.environment, **variables}, timeout=LAUNCH_S * 3)
            output.seek(0)
            return ended.returncode, output.read()

    def results(self):
        with open(self.path("results.json")) as file:
            return json.load(file)

    def expect_gate_passed(self, output, cases):
        records = self.results()["records"]
        self.assertEqual([record["id"] for record in records], cases, output)
        for record in records:
            self.assertEqual((record["status"], record["equivalence"]["status"]), ("ok", "pass"), output)
        self.assertEqual([host["name"] for host in self.results()["context"]["hosts"]], ["n1", "n2"])

    def expect_nothing_left(self, within_s=10, temporary="tmp"):
        """No process of a launch on any host, and no shared memory: all of this machine's processes are looked at."""
        end = time.monotonic() + within_s
        left = None
        while left != []:
            left = [words for _, words in cluster.processes() if any(self.path(temporary) in word for word in words)]
            if left and time.monotonic() > end:
                self.fail(f"still running: {left}")
            time.sleep(0.1)
        for host in self.cluster.hosts:
            self.assertEqual(self.cluster.run(host, ["ls", "/dev/shm"]).stdout, "", host)


class HostsTest(OnHosts):
    def test_a_batch_job_takes_srun_and_names_both_hosts(self):
        script = pathlib.Path(self.path("job.sh"))
        cases = " ".join(f"'{case}'" for case in CASES)
        script.write_text("#!/bin/sh\n"
                          "#SBATCH --nodes=2 --ntasks-per-node=1\n"
                          f"#SBATCH --output={self.path('job.out')}\n"
                          f"'{BIN}/parabench' run {cases} --verify only --json '{self.path('verified.json')}' || exit\n"
                          f"'{BIN}/parabench' run '{CASES[0]}' --steps 3 --warmup 1 --json '{self.path('results.json')}'\n")
        code, output = self.run_on_head(["sbatch", "--wait", str(script)])
        output += pathlib.Path(self.path("job.out")).read_text()
        self.assertEqual(code, 0, output)
        self.assertIn("(n1, n2): the launcher is srun", output)
        self.assertIn("ranks are started by srun --mpi=pmix", output)
        self.expect_gate_passed(output, CASES[:1])
        document = self.results()
        self.assertEqual(document["context"]["launcher"], "srun")
        ranks = document["records"][0]["measured"]["ranks"]
        self.assertEqual([rank["host"] for rank in ranks], ["n1", "n2"])
        # Each rank takes cores by its place among those of its host: both are the first there.
        self.assertEqual(ranks[0]["cpuset"], ranks[1]["cpuset"])
        os.rename(self.path("verified.json"), self.path("results.json"))
        self.expect_gate_passed(output, CASES)
        self.expect_nothing_left()

    def test_a_generated_batch_script_runs_every_case_on_both_hosts(self):
        sweep = pathlib.Path(self.path("sweep.toml"))
        sweep.write_text('name = "hosts"\nsystem = "cluster"\ncases = [' + ", ".join(f'"{case}"' for case in CASES) + "]\n"
                         '[run]\nsteps = 3\nwarmup = 1\n[slurm]\nranks-per-node = 1\ntime = "10min"\n')
        runs = self.path("runs")
        folder = pathlib.Path(runs, "hosts", "cluster")
        code, output = self.run_on_head([f"{BIN}/parabench", "sweep", str(sweep), "--scheduler", "slurm", "--out", runs])
        self.assertEqual(code, 0, output)
        self.assertIn(f"sbatch {folder}/nodes-2.sbatch    # 3 cases", output)

        del self.environment["TMPDIR"]  # The script has to find a folder that both hosts share.
        code, output = self.run_on_head(["sbatch", "--wait", str(folder / "nodes-2.sbatch")])
        jobs = sorted(folder.glob("slurm-*_*.out"))
        output += "".join(job.read_text() for job in jobs)
        self.assertEqual(code, 0, output)
        self.assertEqual(len(jobs), len(CASES), output)
        for job in jobs:
            self.assertRegex(job.read_text(), r"(?s)FOM step_time_median_s: [0-9.e-]+\n.*PARABENCH_RESULT: PASS\n$")

        code, output = self.run_on_head([f"{BIN}/parabench", "sweep", "status", runs, "--json"])
        self.assertEqual(code, 0, output)
        cases = json.loads(output)[0]["cases"]
        self.assertEqual([(one["id"], one["state"]) for one in cases], [(case, "done") for case in CASES])
        for one in cases:
            with open(folder / one["folder"] / "result.json") as file:
                document = json.load(file)
            self.assertEqual(document["context"]["launcher"], "srun")
            self.assertEqual([host["name"] for host in document["context"]["hosts"]], ["n1", "n2"])
            self.assertEqual(document["records"][0]["equivalence"]["status"], "pass")
        # Hosts of this cluster share /tmp as well, so that success alone does not tell which folder was taken.
        self.assertTrue((folder / "tmp").is_dir())
        self.expect_nothing_left(temporary="runs/hosts/cluster/tmp")

    def test_more_ranks_than_a_job_has_slots(self):
        cases = [f"{NETWORK}/zero1/np:4/batch:8"]
        for launcher, word in (("srun", "--overcommit"), ("mpirun", "--oversubscribe")):
            with self.subTest(launcher):
                code, output = self.run_on_head(["salloc", "--nodes=2", "--ntasks-per-node=1",
                                                 *self.words(*cases, "--verify", "only", "--launcher", launcher)])
                self.assertEqual(code, 0, output)
                self.assertIn(f"{launcher} gets ", output)
                self.assertIn(word, output)
                self.expect_gate_passed(output, cases)
                self.expect_nothing_left()

    def agent(self):
        """Variables under which mpirun on head reaches n1 and n2 without a scheduler of its own; PBS's file is where
        {hosts} comes from."""
        pathlib.Path(self.path("nodes")).write_text("n1\nn2\n")
        return {"OMPI_MCA_plm_rsh_agent": str(self.cluster.folder / "agent"), "PBS_NODEFILE": self.path("nodes"),
                "PRTE_MCA_plm_ssh_agent": str(self.cluster.folder / "agent"), "PBS_JOBID": "1"}

    AGENT_LAUNCHER = "mpirun --allow-run-as-root --bind-to none -np {np} --host {hosts} {program}"

    def test_mpirun_reaches_hosts_through_an_agent(self):
        code, output = self.run_on_head(self.words(*CASES, "--verify", "only", "--launcher", self.AGENT_LAUNCHER),
                                        **self.agent())
        self.assertEqual(code, 0, output)
        self.assertIn("--host n1,n2 ", output)
        self.expect_gate_passed(output, CASES)
        self.expect_nothing_left()

    def test_every_way_to_sum_passes_the_gate_between_hosts(self):
        cases = [f"{NETWORK}/{strategy}/np:2/batch:8/reduce:{reduce}" for strategy in ("data-parallel", "zero1")
                 for reduce in ("ring", "halving-doubling", "double-tree", "hierarchical", "library")]
        code, output = self.run_on_head(self.words(*cases, "--verify", "only", "--launcher", self.AGENT_LAUNCHER),
                                        **self.agent())
        self.assertEqual(code, 0, output)
        self.expect_gate_passed(output, cases)

    def test_shares_within_hosts_and_servers_pass_the_gate_and_move_their_bytes(self):
        # Four ranks, two on each host, whose shares are within the host; a server on the other host than one worker.
        placed = self.AGENT_LAUNCHER.replace("{hosts}", "n1:2,n2:2")
        # The layers, each a bucket: a linear one with its layer norm, and the last linear one.
        sizes = [4 * (28 * 28 * 32 + 32 + 2 * 32), 4 * (32 * 10 + 10)]
        whole = sum(sizes)
        # Every bucket is gathered and its gradients are reduce-scattered by two ranks, half of it each; this half is
        # summed with the other host's. The first layer's weights had to leave, and are gathered once more.
        hybrid = whole / 2 + sizes[0] / 2 + whole / 2 + whole / 2
        expected = {f"{NETWORK}/zero3/np:4/batch:8/bucket:1/shard:2/prefetch:0": [hybrid] * 4,
                    f"{NETWORK}/parameter-server/np:3/batch:8": [whole, whole, 2 * whole]}
        code, output = self.run_on_head(self.words(*expected, "--steps", "3", "--warmup", "1", "--launcher", placed),
                                        **self.agent())
        self.assertEqual(code, 0, output)
        self.expect_gate_passed(output, list(expected))
        for record in self.results()["records"]:
            ranks = record["measured"]["ranks"]
            self.assertEqual([rank["host"] for rank in ranks], ["n1", "n1", "n2", "n2"][:len(ranks)])
            for rank, bytes_each_way in zip(ranks, expected[record["id"]]):
                for moved in (rank["bytes_sent"], rank["bytes_received"]):
                    # Tensors are padded to 64 bytes, which divide unevenly.
                    self.assertAlmostEqual(moved, bytes_each_way, delta=128, msg=f"{record['id']}: {rank}")
        self.expect_nothing_left()

    def test_hosts_that_were_given_different_plans_say_so(self):
        """Started by hand: parabench itself hands one file to all. Its name is the same, as in a folder of each host's."""
        hashes = []
        for host, batch in (("n1", 8), ("n2", 16)):
            case = f"{NETWORK}/data-parallel/np:2/batch:{batch}"
            plan, predicted = (self.cluster.run("head", [f"{BIN}/parabench", *words], env=self.environment).stdout
                               for words in (["plan", case, "--format", "json"], ["predict", case, "--json"]))
            pathlib.Path(self.path(f"plan-{host}.json")).write_text(plan)
            hashes.append(json.loads(predicted)[0]["plan"]["hash"])
        self.assertNotEqual(*hashes)
        reply = self.path("tmp/reply")
        os.mkdir(reply)
        rank = f"exec '{BIN}/parabench-rank' --plan '{self.path('plan-')}'$(hostname).json --phase measure --reply '{reply}'"
        command = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-np", "2", "--host", "n1,n2", "sh", "-c", rank]
        code, output = self.run_on_head(command, **self.agent())
        self.assertNotEqual(code, 0, output)
        self.assertIn(f"plan: got '{hashes[1]} on rank 1', expected {hashes[0]}, as on rank 0", output)
        self.assertIn("give every rank the same plan file", output)
        self.assertFalse(os.path.exists(os.path.join(reply, "reply.json")))
        self.expect_nothing_left()

    def test_a_record_between_hosts_says_how_ranks_summed(self):
        code, output = self.run_on_head(self.words(CASES[0], "--steps", "3", "--warmup", "1", "--launcher",
                                                   self.AGENT_LAUNCHER), **self.agent())
        self.assertEqual(code, 0, output)
        measured = self.results()["records"][0]["measured"]
        self.assertEqual((measured["reduction"], measured["mpi_settings"]),
                         ("halving-doubling", "OMPI_MCA_btl_tcp_flags=1"))

    def test_predictions_take_what_was_measured_between_hosts(self):
        """A calibration of one host is not taken for two; what is measured there is told apart, and taken."""
        file = self.path("calibration.json")
        run = self.words(CASES[0], CASES[1], "--verify", "off", "--steps", "3", "--warmup", "1", "--calibration", file)
        code, output = self.run_on_head(run)
        self.assertEqual(code, 0, output)
        self.assertEqual({(row["hosts"], row["most_on_a_host"]) for row in self.curves(file, "all_reduce")}, {(1, 2)})

        code, output = self.run_on_head([*run, "--launcher", self.AGENT_LAUNCHER], **self.agent())
        self.assertEqual(code, 0, output)
        self.assertIn("2 ranks are on n1 (1 rank), n2 (1 rank): ", output)
        self.assertIn("the calibration lacks something", output)
        self.assertEqual({(row["hosts"], row["most_on_a_host"]) for row in self.curves(file, "all_reduce")}, {(1, 2), (2, 1)})
        self.assertEqual({row["hosts"] for row in self.curves(file, "point_to_point")}, {1, 2})
        for record, formula in zip(self.results()["records"], (" bytes, 2 ranks on 2 hosts)", " bytes between hosts)")):
            transfers = [term for term in record["predicted"]["terms"] if formula in term["formula"]]
            self.assertTrue(transfers, record["predicted"]["terms"])
            self.assertEqual({term["cost_source"] for term in transfers}, {"calibrated"})

        code, output = self.run_on_head([*run, "--launcher", self.AGENT_LAUNCHER], **self.agent())
        self.assertEqual(code, 0, output)
        self.assertNotIn("the calibration lacks something", output)
        self.expect_nothing_left()

    def curves(self, file, of):
        launches = json.loads(pathlib.Path(file).read_text())["launches"]
        return [row for launch in launches for row in launch.get(of, [])]

    def test_settings_of_mpi_that_the_user_made_survive_between_hosts_and_are_recorded(self):
        code, output = self.run_on_head(self.words(CASES[0], "--steps", "3", "--warmup", "1", "--launcher",
                                                   self.AGENT_LAUNCHER), **self.agent(), OMPI_MCA_btl_tcp_flags="13")
        self.assertEqual(code, 0, output)
        self.assertEqual(self.results()["records"][0]["measured"]["mpi_settings"], "OMPI_MCA_btl_tcp_flags=13")

    def test_a_window_between_hosts_is_refused(self):
        code, output = self.run_on_head(self.words(f"{CASES[0]}/reduce:window", "--launcher", self.AGENT_LAUNCHER),
                                        **self.agent())
        self.assertNotEqual(code, 0, output)
        reason = self.results()["records"][0]["reason"]
        for words in ("reduce: got 'window'", "the ranks are on several nodes", "reduce:auto"):
            self.assertIn(words, reason)

    def test_tasks_that_nobody_introduced_are_refused(self):
        code, output = self.run_on_head(["salloc", "--nodes=2", "--ntasks-per-node=1", *self.words(
            CASES[0], "--verify", "only", "--launcher", "srun --mpi=none -n {np} {program}")])
        self.assertEqual(code, 4, output)
        reason = self.results()["records"][0]["reason"]
        for words in ("MPI world size: got '1'", "srun --mpi=pmix", "srun --mpi=list", "mpirun"):
            self.assertIn(words, reason)
        self.expect_nothing_left()

    def test_a_rank_that_stops_on_another_host_before_mpi_starts_is_noticed(self):
        """The front runs on n1, which sees no process of n2, and no rank is past the start of MPI."""
        launcher = f"srun --mpi=pmix --kill-on-bad-exit=1 -n {{np}} env LD_PRELOAD={STOP_AT_START} STOP_ON=n2 {{program}}"
        with open(self.path("output"), "w+") as output:
            front = self.cluster.start("n1", ["salloc", "--nodes=2", "--ntasks-per-node=1", *self.words(
                CASES[0], "--verify", "only", "--timeout", str(LAUNCH_S), "--launcher", launcher)],
                env=self.environment, stdout=output, stderr=output)
            self.addCleanup(front.wait)
            self.addCleanup(front.kill)
            front.wait(timeout=LAUNCH_S * 3)
        self.assertRegex(self.results()["records"][0]["reason"], "rank 1 on n2 gave no sign of life")
        self.expect_nothing_left(NOTICED_S)


class CutOffTest(OnHosts):
    # First ranks of hosts share a core otherwise: one that spins in MPI would keep it from the other.
    cores_each = 1 if {0, 1} <= os.sched_getaffinity(0) else None

    def expect_cut_off_host_ends_the_case(self, launcher):
        """n2's network goes down while the steps run. The front runs on n1: it sees no process of n2, as that of head
        would."""
        command = ["salloc", "--nodes=2", "--ntasks-per-node=1", *self.words(
            CASES[0], "--verify", "off", "--steps", "20000", "--launcher", launcher)]
        with open(self.path("output"), "w+") as output:
            front = self.cluster.start("n1", command, env=self.environment, stdout=output, stderr=output)
            self.addCleanup(front.wait)
            self.addCleanup(front.kill)
            end = time.monotonic() + LAUNCH_S
            text = ""
            while "measure 1/1" not in text or len(self.running_steps()) < 2:
                self.assertLess(time.monotonic(), end, text)
                self.assertIsNone(front.poll(), text)
                time.sleep(0.1)
                text = pathlib.Path(self.path("output")).read_text()
            self.cluster.link("n2", "down")
            begin = time.monotonic()
            front.wait(timeout=LAUNCH_S)
            took = time.monotonic() - begin
            text = pathlib.Path(self.path("output")).read_text()
        record = self.results()["records"][0]
        print(f"{launcher}: ended after {took:.1f} s: {record['reason']}")
        self.assertLess(took, NOTICED_S, text)
        self.assertEqual(record["status"], "failed", text)
        self.assertRegex(record["reason"], "n2")
        # n2 is still cut off: what runs there has to end by itself.
        self.expect_nothing_left(NOTICED_S)
        self.cluster.link("n2", "up")

    def running_steps(self):
        """The ranks that have begun a step."""
        found = []
        for file in glob.glob(self.path("tmp/parabench-*/*/beat-*.json")):
            try:
                text = pathlib.Path(file).read_text()
            except OSError:
                continue
            if '"step ' in text:
                found.append(file)
        return found

    def test_a_host_that_is_cut_off_ends_the_case_under_srun(self):
        self.expect_cut_off_host_ends_the_case("srun")

    def test_a_host_that_is_cut_off_ends_the_case_under_mpirun(self):
        self.expect_cut_off_host_ends_the_case("mpirun")


if __name__ == "__main__":
    if skipped := cluster.skipping(cluster.require):
        sys.exit(skipped)
    BIN = os.path.abspath(sys.argv.pop(1))
    STOP_AT_START = os.path.abspath(sys.argv.pop(1))
    unittest.main()
