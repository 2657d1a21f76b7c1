"""The example for Ramble without Ramble, which is on no package index: its directives are taken as Ramble takes them, and
its expressions are tried on what parabench prints. Arguments: checkout, parabench."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

root, parabench = pathlib.Path(sys.argv[1]), sys.argv[2]
calls = {}


def directive(name):
    return lambda *words, **options: calls.setdefault(name, []).append((words, options))


# What `from ramble.appkit import *` brings, as far as the example reads it.
kit = types.ModuleType("ramble.appkit")
kit.ExecutableApplication = object
for name in ("tags", "executable", "workload", "workload_variable", "figure_of_merit", "success_criteria"):
    setattr(kit, name, directive(name))
sys.modules["ramble"], sys.modules["ramble.appkit"] = types.ModuleType("ramble"), kit
source = root / "docs/examples/ramble/applications/parabench/application.py"
exec(compile(source.read_text(), source, "exec"), {})

with tempfile.TemporaryDirectory() as scratch:
    values = {words[0]: options["default"] for words, options in calls["workload_variable"]}
    values.update(parabench=parabench, experiment_run_dir=scratch)
    line = calls["executable"][0][0][1].format(**values)
    stand_in = f'. "{root}/tests/examples/stand_in.sh"\n'
    environment = dict(os.environ, SCRATCH=scratch)
    done = subprocess.run(["sh", "-euc", stand_in + line], cwd=scratch, env=environment, text=True, capture_output=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    for (name,), options in calls["figure_of_merit"]:
        found = [m for m in map(re.compile(options["fom_regex"]).match, lines) if m]
        assert len(found) == 1, f"{name}: {len(found)} lines in\n{done.stdout}"
        assert float(found[0].group(options["group_name"])) > 0, name
    success = re.compile(calls["success_criteria"][0][1]["match"])
    assert sum(bool(success.match(text)) for text in lines) == 1, done.stdout

    environment["FAKE_RANK"] = "gpipe|measure|failure|1"
    failing = line.replace("--resume", "").replace("result.json", "failed.json")
    failed = subprocess.run(["sh", "-euc", stand_in + failing], cwd=scratch, env=environment, text=True,
                            capture_output=True)
    assert failed.returncode == 1 and not any(success.match(text) for text in failed.stdout.splitlines()), failed.stdout
print(f"{len(calls['figure_of_merit'])} figures and the success line are found")
