"""parabench and parabench-rank on emulated devices. Usage: emulation_program_test.py BIN_FOLDER [unittest arguments]"""
import json, math, os, shutil, subprocess, sys, tempfile, unittest

BIN = os.path.abspath(sys.argv.pop(1))
CASE = "mlp[layers=16,hidden=8]/cifar10-synthetic/{}/np:4/batch:16/micro:4/device:emulated"


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, float) else []


class Emulation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.folder)

    def run_program(self, *words, program="parabench"):
        return subprocess.run([f"{BIN}/{program}", *words], env=self.environment, capture_output=True, text=True,
                              timeout=120)

    def test_records_are_labelled_whole_and_no_faster_than_the_model(self):
        out = os.path.join(self.folder, "out.json")
        cases = [CASE.format(name) for name in ("gpipe", "zb-v")]
        run = self.run_program("run", *cases, "--emulate", "unit:1ms", "--steps", "2", "--warmup", "1", "--json", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("on emulated devices", run.stdout)
        self.assertEqual(self.run_program("validate", out).returncode, 0)
        with open(out) as file:
            records = json.load(file)["records"]
        self.assertEqual(len(records), 2)
        for record in records:
            self.assertEqual((record["status"], record["reason"]), ("ok", None))
            self.assertEqual(record["equivalence"]["status"], "not_checked")
            self.assertIn("nothing is trained", record["equivalence"]["reason"])
            self.assertEqual({rank["device"] for rank in record["measured"]["ranks"]}, {"emulated"})
            self.assertEqual((record["measured"]["losses"], record["measured"]["baseline"]), ([], None))
            self.assertIn("--emulate unit:0.001s", record["reproduce"])
            self.assertEqual({term["cost_source"] for term in record["predicted"]["terms"]}, {"unit"})
            self.assertGreater(record["measured"]["isolated_step_time_s"]["median"],
                               record["predicted"]["isolated_step_time_s"] * (1 - 1e-9))
            self.assertTrue(all(map(math.isfinite, numbers(record))))

    def test_records_say_what_auto_stands_for_over_given_links(self):
        case = "mlp[layers=4,hidden=8]/cifar10-synthetic/data-parallel/np:{}/batch:10/device:emulated"
        told = {case.format(4): "halving-doubling", case.format(3): "ring",
                case.format(5): "ring, halving-doubling up to 65536 bytes",
                case.format(4).replace("/device", "/reduce:ring/device"): "ring"}
        out = os.path.join(self.folder, "out.json")
        run = self.run_program("run", *told, "--emulate", "unit:1ms,rate:1Gbit,latency:50us", "--steps", "1", "--warmup",
                               "1", "--json", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(out) as file:
            measured = [record["measured"]["reduction"] for record in json.load(file)["records"]]
        self.assertEqual(measured, list(told.values()))

    def test_a_plan_file_without_times_and_other_phases_are_refused(self):
        plan = self.run_program("plan", CASE.format("gpipe"), "--format", "json", "--emulate", "unit:1ms").stdout
        path = os.path.join(self.folder, "plan.json")
        for content, phase, words in ((plan, "verify", "measure for a plan on device:emulated"),
                                      (plan.replace('"seconds"', '"start"'), "measure", "seconds of")):
            with open(path, "w") as file:
                file.write(content)
            reply = os.path.join(self.folder, phase)
            run = self.run_program("--plan", path, "--phase", phase, "--reply", reply, program="parabench-rank")
            self.assertEqual(run.returncode, 2)
            with open(os.path.join(reply, "error-0.json")) as file:
                self.assertIn(words, json.load(file)["message"])


if __name__ == "__main__":
    unittest.main()
