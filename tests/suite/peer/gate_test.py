"""Every product that the environment of ./parabench peers has trains what ours does: its losses pass on a small network.
Arguments: parabench, the wheels' folder. Skipped (code 77) where there is no environment."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
WORK = {
    "mlp[layers=8,hidden=16]/cifar10-synthetic": ["torch-ddp", "fsdp2", "torch-gpipe", "torch-1f1b", "torch-interleaved",
                                                  "torch-zbv", "torchgpipe", "deepspeed-zero1", "deepspeed-zero2",
                                                  "deepspeed-zero3"],
    "resnet18[channels=8]/cifar10-synthetic": ["torch-ddp"],
    "vgg11[channels=8]/cifar10-synthetic": ["torch-ddp"],
    "mobilenetv2[channels=8]/cifar10-synthetic": ["torch-ddp"],
    "transformer[layers=2,hidden=16,heads=2,sequence=8]/tokens-synthetic[sequence=8,vocabulary=50]": ["torch-ddp"],
    "unet[depth=2,convolutions=3,channels=4]/masks-synthetic[pixels=32]": ["torch-ddp"],
}


def main():
    program, wheels = sys.argv[1:]
    peers = os.environ.get("PARABENCH_PEERS") or os.path.join(wheels, "peers")
    if not os.access(os.path.join(peers, "bin", "python"), os.X_OK):
        print(f"skipped: no environment in {peers}; ./parabench peers makes it")
        return SKIPPED
    cases = [f"{work}/peer[product={product}]/np:2/batch:16" for work, products in WORK.items() for product in products]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        ended = subprocess.run([program, "run", *cases, "--verify", "only", "--json", out],
                               env=os.environ | {"PARABENCH_PEERS": peers, "XDG_CACHE_HOME": folder},
                               capture_output=True, text=True, check=False)
        records = json.loads(out.read_text())["records"] if out.exists() else []
    passed = {record["id"] for record in records if record["equivalence"]["status"] == "pass"}
    skipped = {record["id"] for record in records if record["status"] == "skipped"}
    wrong = set(cases) - passed - skipped
    if wrong or not passed:
        print(ended.stdout, ended.stderr)
        return 1
    print(f"{len(passed)} passed, {len(skipped)} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
