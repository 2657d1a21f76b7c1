"""parabench and parabench-rank together, on real ranks. Usage: rank_program_test.py BIN_FOLDER [unittest arguments]"""
import glob, json, os, shutil, signal, subprocess, sys, tempfile, time, unittest

BIN = os.path.abspath(sys.argv.pop(1))
CASE = "resnet18/imagenet-synthetic[pixels=32,classes=10]/"
GRADIENT_BYTES = 4 * 11_181_642  # of the 10-class ResNet-18; every tensor is padded to 64 bytes


def family(pid):
    """A process and all below it."""
    all_of_them = [pid]
    for parent in all_of_them:
        for path in glob.glob(f"/proc/{parent}/task/*/children"):
            try:
                with open(path) as file:
                    all_of_them.extend(map(int, file.read().split()))
            except OSError:
                pass
    return all_of_them


def sockets_of(pid):
    """Protocol and address of its sockets at which others may knock: TCP's that listen, and all of UDP, but those on the
    loopback addresses 127.0.0.0/8 and ::1, also as ::ffff:127.0.0.0/104."""
    links = [os.readlink(path) for path in glob.glob(f"/proc/{pid}/fd/*") if os.path.islink(path)]
    own = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    found = []
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        if not os.path.exists(f"/proc/{pid}/net/{protocol}"):
            continue
        with open(f"/proc/{pid}/net/{protocol}") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        for row in rows:
            address, state, inode = row[1].split(":")[0], row[3], row[9]
            # Words of four bytes, the lowest first.
            loopback = address[-8:].endswith("7F") and (len(address) == 8 or address.startswith("0" * 16 + "FFFF0000")) \
                or address == "0" * 24 + "01000000"
            if inode in own and not loopback and (state == "0A" or protocol.startswith("udp")):
                found.append((protocol, address))
    return found


class RankProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        # Threads that wait leave the cores alone: spinning, they take several times as long where other programs run.
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.folder, OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                                OMP_WAIT_POLICY="passive")

    def plan(self, rest, name="plan.json", network=CASE):
        path = os.path.join(self.folder, name)
        out = subprocess.run([f"{BIN}/parabench", "plan", network + rest, "--format", "json"], env=self.environment,
                             capture_output=True, text=True, check=True).stdout
        with open(path, "w") as file:
            file.write(out)
        return path

    def rank(self, plan, *arguments):
        return [f"{BIN}/parabench-rank", "--plan", plan, "--reply", self.folder, *arguments]

    def run_ranks(self, command, **environment):
        return subprocess.run(command, env=dict(self.environment, **environment), capture_output=True, text=True,
                              timeout=120)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return json.load(file)

    def test_a_launch_by_hand_counts_bytes_by_the_formula(self):
        plan = self.plan("data-parallel/np:2/batch:8")
        run = self.run_ranks(["mpirun", "-np", "2", "--bind-to", "none",
                              *self.rank(plan, "--phase", "measure", "--steps", "2", "--warmup", "1", "--trace")])
        self.assertEqual(run.returncode, 0, run.stderr)
        measured = self.read("reply.json")["measured"]
        for rank in measured["ranks"]:
            # In place through shared memory: (p - 1) / p of the gradients each way.
            self.assertAlmostEqual(rank["bytes_sent"] / (GRADIENT_BYTES / 2), 1, places=2)
            self.assertAlmostEqual(rank["bytes_received"] / (GRADIENT_BYTES / 2), 1, places=2)
            self.assertGreater(rank["bus_bandwidth_bytes_per_s"], 0)
        self.assertEqual(len(measured["losses"]), 3)
        self.assertTrue(self.read("trace.json")["traceEvents"])

    def test_every_exchange_by_every_algorithm_brings_the_right_values(self):
        file = os.path.join(self.folder, "exchanges.json")
        kinds = "all-reduce,reduce-scatter,all-gather,broadcast,send-receive,ping-pong"
        run = self.run_ranks([f"{BIN}/parabench", "communicate", "--np", "2", "--collective", kinds, "--reduce",
                              "auto,ring,halving-doubling,double-tree,hierarchical,window,library", "--sizes",
                              "8,1000,512KiB", "--iterations", "3", "--warmup", "1", "--json", file])
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = self.read("exchanges.json")["exchanges"]
        self.assertEqual(len(rows), 3 * (4 * 7 + 2))
        by = {}
        for row in rows:
            self.assertEqual(row["status"], "ok", row)
            self.assertEqual([len(launch) for launch in row["time_s"]["samples"]], [3])
            self.assertEqual(len(row["canary"]), 1)
            by.setdefault((row["kind"], row["reduce"]), row["algorithm"])
        self.assertEqual(by["all-reduce", "auto"], "window")
        self.assertEqual(by["all-reduce", "hierarchical"], "window")
        self.assertEqual(by["all-reduce", "double-tree"], "double-tree")
        self.assertEqual(by["all-gather", "double-tree"], "ring")
        self.assertEqual(by["broadcast", "ring"], "library")
        self.assertEqual(by["ping-pong", "auto"], "shared memory")
        for row in rows:
            self.assertIn("OMPI_MCA_btl_tcp_flags=1 ", row["mpi_settings"])

    def test_groups_exchange_at_the_same_time_and_a_window_that_is_switched_off_is_skipped(self):
        file = os.path.join(self.folder, "exchanges.json")
        run = self.run_ranks([f"{BIN}/parabench", "communicate", "--np", "4", "--groups", "2,4", "--reduce",
                              "auto,window", "--precision", "fp64", "--sizes", "4KiB", "--iterations", "2", "--json",
                              file], PARABENCH_SHARED_MEMORY="off")
        self.assertEqual(run.returncode, 4, run.stderr)
        for row in self.read("exchanges.json")["exchanges"]:
            self.assertEqual(row["status"], "skipped" if row["reduce"] == "window" else "ok", row)
        self.assertIn("memory that all ranks share", run.stdout)

    def test_settings_of_mpi_that_the_user_made_survive_and_are_recorded(self):
        own = {"OMPI_MCA_btl_tcp_flags": "13", "OMPI_MCA_btl": "self,vader"}
        plan = self.plan("data-parallel/np:2/batch:8")
        run = self.run_ranks(["mpirun", "-np", "2", "--bind-to", "none",
                              *self.rank(plan, "--phase", "measure", "--steps", "1", "--warmup", "1")], **own)
        self.assertEqual(run.returncode, 0, run.stderr)
        recorded = "OMPI_MCA_btl_tcp_flags=13 OMPI_MCA_btl=self,vader OMPI_MCA_mtl=^ofi"
        self.assertEqual(self.read("reply.json")["measured"]["mpi_settings"], recorded)

        file = os.path.join(self.folder, "exchanges.json")
        run = self.run_ranks([f"{BIN}/parabench", "communicate", "--np", "2", "--sizes", "8", "--iterations", "1", "--json",
                              file], **own)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.read("exchanges.json")["exchanges"][0]["mpi_settings"], recorded)

    def test_too_little_shared_memory_falls_back_and_trains_the_same(self):
        plan = self.plan("gpipe/np:2/batch:9/micro:2")
        launch = ["mpirun", "-np", "2", "--bind-to", "none", *self.rank(plan, "--phase", "verify")]
        for shared in ("on", "off"):
            run = self.run_ranks(launch, PARABENCH_SHARED_MEMORY=shared)
            self.assertEqual(run.returncode, 0, run.stderr)
            reply = self.read("reply.json")
            self.assertEqual(reply["equivalence"]["status"], "pass", reply["equivalence"])
            self.assertEqual(reply["communicator"] == "", shared == "on")

    def test_every_way_to_sum_trains_the_same_and_is_told(self):
        for strategy in ("data-parallel", "zero1"):
            for reduce, told in {"auto": "window", "window": "window", "hierarchical": "window", "ring": "ring",
                                 "halving-doubling": "halving-doubling", "double-tree": "double-tree",
                                 "library": "library"}.items():
                plan = self.plan(f"{strategy}/np:3/batch:8/reduce:{reduce}", network="mlp[layers=3]/mnist-synthetic/")
                with self.subTest(strategy=strategy, reduce=reduce):
                    for phase in ("verify",) if strategy == "zero1" else ("verify", "measure"):
                        run = self.run_ranks(["mpirun", "-np", "3", "--bind-to", "none",
                                              *self.rank(plan, "--phase", phase)])
                        self.assertEqual(run.returncode, 0, run.stderr)
                        reply = self.read("reply.json")
                        if phase == "verify":
                            self.assertEqual(reply["equivalence"]["status"], "pass", reply["equivalence"])
                        else:
                            self.assertEqual(reply["measured"]["reduction"], told)

    def test_a_check_says_in_rounds_of_how_many_steps_it_trained(self):
        for strategy, told in {"local-sgd": 2, "local-sgd[every=1]": 1, "data-parallel": None}.items():
            plan = self.plan(f"{strategy}/np:2/batch:8", network="mlp[layers=3]/mnist-synthetic/")
            with self.subTest(strategy=strategy):
                run = self.run_ranks(["mpirun", "-np", "2", "--bind-to", "none", *self.rank(plan, "--phase", "verify")])
                self.assertEqual(run.returncode, 0, run.stderr)
                verdict = self.read("reply.json")["equivalence"]
                self.assertEqual((verdict["status"], verdict["every"]), ("pass", told), verdict)

    def test_sums_of_bf16_in_an_order_of_their_own_are_held_to_what_orders_differ_by(self):
        for reduce in ("window", "ring", "halving-doubling", "double-tree", "library"):
            plan = self.plan(f"data-parallel/np:4/batch:16/compress:bf16/reduce:{reduce}",
                             network="mlp[layers=3]/mnist-synthetic/")
            with self.subTest(reduce=reduce):
                run = self.run_ranks(["mpirun", "-np", "4", "--bind-to", "none", *self.rank(plan, "--phase", "verify")])
                self.assertEqual(run.returncode, 0, run.stderr)
                verdict = self.read("reply.json")["equivalence"]
                self.assertEqual(verdict["status"], "pass", verdict)
                difference, tolerance = verdict["max_relative_update_difference"], verdict["tolerance"]
                if reduce == "window":
                    self.assertEqual(tolerance, 1e-9)
                else:
                    self.assertGreater(difference, 1e-9)
                    self.assertLess(tolerance, 0.125)

    def test_a_world_of_another_size_than_the_plans_is_refused(self):
        plan = self.plan("gpipe/np:2/batch:8")
        run = self.run_ranks(["mpirun", "-np", "1", *self.rank(plan, "--phase", "measure")])
        self.assertEqual(run.returncode, 2)
        error = self.read("error-0.json")
        self.assertEqual(error["kind"], "usage")
        self.assertIn("2 ranks", error["message"])

    def test_ranks_with_different_plans_are_refused(self):
        a, b = self.plan("gpipe/np:2/batch:8", "a.json"), self.plan("gpipe/np:2/batch:12", "b.json")
        run = self.run_ranks(["mpirun", "-np", "1", *self.rank(a, "--phase", "measure"), ":",
                              "-np", "1", *self.rank(b, "--phase", "measure")])
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("plan", self.read("error-1.json")["message"])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "reply.json")))

    def test_a_foreign_plan_file_is_refused(self):
        path = os.path.join(self.folder, "foreign.json")
        with open(path, "w") as file:
            file.write('{"a": 1}')
        run = self.run_ranks(self.rank(path, "--phase", "measure"))
        self.assertEqual(run.returncode, 2)

    def test_a_diverged_loss_is_told_as_such(self):
        plan = self.plan("model-parallel/np:2/batch:8/lr:1e30")
        run = self.run_ranks(["mpirun", "-np", "2", "--bind-to", "none",
                              *self.rank(plan, "--phase", "measure", "--steps", "3", "--warmup", "2")])
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(self.read("error-1.json")["kind"], "not_a_number")

    def test_a_killed_rank_stops_the_launch_within_ten_seconds_and_leaves_nothing(self):
        plan = self.plan("data-parallel/np:2/batch:8")
        launch = subprocess.Popen(["mpirun", "-np", "2", "--bind-to", "none",
                                   *self.rank(plan, "--phase", "measure", "--steps", "100000")],
                                  env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pid_file = os.path.join(self.folder, "pid-1.json")
        for _ in range(600):
            if os.path.exists(pid_file):
                break
            time.sleep(0.1)
        time.sleep(1)
        os.kill(self.read("pid-1.json")["pid"], signal.SIGKILL)
        self.assertNotEqual(launch.wait(timeout=10), 0)
        for pid in (self.read("pid-0.json")["pid"], self.read("pid-1.json")["pid"]):
            deadline = time.monotonic() + 10
            while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(glob.glob("/dev/shm/parabench*"), [])

    def started_ranks(self):
        """Process ids of the rank programs that our front started, by the cache folder that only they have."""
        mark, pids = f"XDG_CACHE_HOME={self.folder}".encode(), []
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{folder}/cmdline", "rb") as command, open(f"{folder}/environ", "rb") as environment:
                    words = command.read().split(b"\0")
                    if os.path.basename(words[0]) == b"parabench-rank" and mark in environment.read().split(b"\0"):
                        pids.append((int(folder.split("/")[-1]), b"measure" in words))
            except OSError:
                pass  # it has ended
        return pids

    def front_while_measuring(self, *arguments):
        """A run of two cases, once the ranks of the first one measure; and where its results go."""
        out = os.path.join(self.folder, "out.json")
        cases = [CASE + "sequential/np:1/batch:8", CASE + "gpipe/np:2/batch:8"]
        front = subprocess.Popen([f"{BIN}/parabench", "run", *cases, "--repetitions", "1", "--warmup", "1", "--json", out,
                                  *arguments], env=self.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(front.stderr.close)
        deadline = time.monotonic() + 120
        while not any(measures for _, measures in self.started_ranks()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        return front, out

    def records(self, out):
        with open(out) as file:
            return json.load(file)["records"]

    def assert_nothing_left(self):
        self.assertEqual(self.started_ranks(), [])
        self.assertEqual(glob.glob("/dev/shm/parabench*"), [])

    def test_a_stopped_rank_is_noticed_before_the_time_limit_and_the_next_case_runs(self):
        front, out = self.front_while_measuring("--steps", "60", "--timeout", "1h", "--verify", "off")
        for pid, _ in self.started_ranks():
            os.kill(pid, signal.SIGSTOP)
        self.assertEqual(front.wait(timeout=120), 1)
        stopped, after = self.records(out)
        self.assertEqual(stopped["status"], "failed")
        self.assertIn("was stopped", stopped["reason"])
        # A rank that was stopped at once may have told nothing.
        self.assertLessEqual({last["rank"] for last in stopped["last_operations"]}, {0, 1})
        self.assertEqual(after["status"], "ok", after["reason"])
        self.assert_nothing_left()

    def test_two_ctrl_c_end_ranks_and_keep_a_record(self):
        front, out = self.front_while_measuring("--steps", "2000", "--verify", "off")
        front.send_signal(signal.SIGINT)
        time.sleep(1)
        self.assertIsNone(front.poll())
        front.send_signal(signal.SIGINT)
        self.assertEqual(front.wait(timeout=20), 130)
        self.assertEqual([r["status"] for r in self.records(out)], ["failed"])
        self.assert_nothing_left()

    def test_nothing_of_a_run_listens_beyond_this_host(self):
        """But mpirun: Open MPI has no setting for its port, at which daemons of other hosts would report."""
        run = subprocess.Popen([f"{BIN}/parabench", "run", "mlp[layers=4]/cifar10-synthetic/data-parallel/np:2/batch:32",
                                "--steps", "300", "--verify", "off"], env=self.environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        looked_at, open_to_others = {}, set()
        while run.poll() is None:
            for pid in family(run.pid):
                try:
                    with open(f"/proc/{pid}/comm") as file:
                        name = file.read().strip()
                    sockets = sockets_of(pid)
                except OSError:  # it has ended
                    continue
                looked_at.setdefault(name, set()).add(pid)
                open_to_others |= {(name, *one) for one in sockets if name != "mpirun"}
            time.sleep(0.01)
        self.assertEqual(run.returncode, 0)
        self.assertGreaterEqual(len(looked_at["parabench-rank"]), 4, "ranks of the calibration and of the run")
        self.assertIn("mpirun", looked_at)
        self.assertEqual(open_to_others, set())

    def test_every_strategy_is_verified_measured_and_predicted(self):
        rests = ["sequential/np:1/batch:8/threads:2", "data-parallel/np:2/batch:8", "model-parallel/np:2/batch:8",
                 "gpipe/np:2/batch:8/micro:2", "pipedream/np:2/batch:8", "gpipe/np:2/batch:8/micro:2/comm:threads"]
        out = os.path.join(self.folder, "out.json")
        run = subprocess.run([f"{BIN}/parabench", "run", *[CASE + rest for rest in rests], "--steps", "3", "--warmup", "1",
                              "--repetitions", "1", "--json", out],
                             env=self.environment, capture_output=True, text=True, timeout=280)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(out) as file:
            records = json.load(file)["records"]
        self.assertEqual([r["id"] for r in records], [CASE + rest for rest in rests])
        for record in records:
            self.assertEqual(record["equivalence"]["status"], "pass", record["equivalence"])
            self.assertTrue(record["equivalence"]["loss_agrees"])
            self.assertEqual(len(record["measured"]["step_time_s"]["samples"][0]), 3)
            for rank in record["measured"]["ranks"]:
                self.assertEqual(rank["arithmetic"], {"parameters": "fp32", "autocast": None, "matmul": "fp32",
                                                      "convolution": "fp32", "note": None})
            self.assertGreater(record["predicted"]["step_time_s"], 0)
            for error in record["error"]["peak_memory_relative"]:
                self.assertLess(abs(error), 0.25, record["id"])
            ranks, own = record["parameters"]["np"], "comm:threads" not in record["id"]
            self.assertEqual(len(record["error"]["resident_memory_relative"]), ranks if own else 0, record["id"])
            for error in record["error"]["resident_memory_relative"]:
                self.assertLess(abs(error), 0.25, record["id"])
        self.assertEqual(subprocess.run([f"{BIN}/parabench", "validate", out], env=self.environment,
                                        stdout=subprocess.DEVNULL).returncode, 0)

    def verify(self, model, rests):
        out = os.path.join(self.folder, "out.json")
        run = subprocess.run([f"{BIN}/parabench", "run", *[model + rest for rest in rests], "--verify", "only", "--json",
                              out], env=self.environment, capture_output=True, text=True, timeout=280)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual([r["equivalence"]["status"] for r in self.records(out)], ["pass"] * len(rests))

    def test_every_schedule_trains_the_same_parameters_over_mpi(self):
        self.verify("mlp[layers=12,hidden=32]/cifar10-synthetic/",
                    ["1f1b/np:4/batch:11", "dapple/np:3/batch:9", "interleaved/np:2/batch:9/chunks:3",
                     "looped-bfs/np:2/batch:9", "zb-h1/np:3/batch:11", "zb-h2/np:2/batch:9",
                     "zb-v/np:3/batch:11/micro:5", "dualpipev/np:2/batch:9", "chimera/np:4/batch:9",
                     "chimera/np:4/batch:17/dp:2", "1f1b/np:4/batch:17/dp:2",
                     "zb-v/np:4/batch:17/dp:2/recompute:except-last", "pipedream[replicas=2-1]/np:3/batch:4",
                     "pipedream-2bw/np:3/batch:9", "gpipe/np:3/batch:9/recompute:all"])

    # Batch norm, maps and several megabytes of weights: ResNet-18 in few pieces. All of it: tests/equivalence/check.
    def test_every_kind_of_schedule_trains_the_same_resnet_over_mpi(self):
        self.verify(CASE, ["1f1b/np:4/batch:5/micro:1/dp:2", "interleaved/np:2/batch:2/micro:1",
                           "zb-v/np:2/batch:5/micro:2/recompute:all", "chimera/np:2/batch:5/micro:2",
                           "pipedream[replicas=2-1]/np:3/batch:2", "pipedream-2bw/np:2/batch:2/micro:1"])


if __name__ == "__main__":
    unittest.main()
