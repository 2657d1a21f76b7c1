"""Which products a Python environment has, as suite/peer answers it: versions and imports, tried on packages made up in
a folder. Argument: suite/peer. Torch is not needed."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

PINS = ["torch==2.11.0", "gadget==0.7.1"]
# In place of products.py, whose import is that of torch.
PRODUCTS = """\
import torch

class Product:
    def __init__(self, packages):
        self.packages = packages

PRODUCTS = {"plain": Product(["torch"]), "both": Product(["torch", "gadget"])}
"""


class ProbeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parabench-probe-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.program, self.site, self.environment = (self.folder / name for name in ("program", "site", "environment"))
        for folder in (self.program, self.site, self.environment / "reasons"):
            folder.mkdir(parents=True)
        shutil.copy(PEER / "__main__.py", self.program)
        (self.program / "products.py").write_text(PRODUCTS)

    def install(self, name, version, module=""):
        """As pip leaves a package: its module and what tells its version."""
        (self.site / f"{name}.py").write_text(textwrap.dedent(module))
        info = self.site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def probe(self, *products):
        answer = subprocess.run(
            [sys.executable, "-sB", self.program, "--environment", self.environment, "--probe", *products, "--pins", *PINS],
            env={**os.environ, "PYTHONPATH": str(self.site)}, capture_output=True, text=True, check=True)
        return json.loads(answer.stdout)

    def reason(self, product):
        return self.probe(product)["products"][product]

    def test_the_pinned_versions_are_taken(self):
        self.install("torch", "2.11.0+cpu")  # what follows the plus is how it was built
        self.install("gadget", "0.7.1")
        self.assertEqual(self.probe("plain", "both"), {"products": {"plain": "", "both": ""}})

    def test_another_version_is_named_with_the_one_expected_and_what_to_type(self):
        for found, expected in (("0.7.10", "0.7.1"), ("0.7", "0.7.1"), ("0.7.2+cpu", "0.7.1")):
            with self.subTest(found):
                shutil.rmtree(self.site)
                self.site.mkdir()
                self.install("torch", "2.11.0")
                self.install("gadget", found)
                self.assertEqual(self.reason("plain"), "")
                self.assertEqual(self.reason("both"), f"gadget {found.split('+')[0]} is installed, expected {expected}; "
                                                      "./parabench peers makes the environment anew")

    def test_an_extension_that_could_not_be_built_counts_until_it_is_there(self):
        self.install("torch", "2.11.0")
        self.install("gadget", "0.7.1")
        (self.environment / "reasons/gadget-extension").write_text("its extension could not be built\n")
        self.assertTrue(self.reason("both").startswith("gadget: its extension could not be built; ./parabench peers"))
        (self.environment / "extensions/shm").mkdir(parents=True)
        (self.environment / "extensions/shm/shm.so").write_text("")
        self.assertEqual(self.reason("both"), "")

    def test_what_is_not_installed_says_so_or_gives_the_reason_of_its_installation(self):
        self.install("torch", "2.11.0")
        self.assertTrue(self.reason("both").startswith("gadget: not installed; ./parabench peers"))
        reason = self.environment / "reasons/gadget"
        for left, told in ((b"no wheel for this Python\n", "no wheel for this Python"),
                           (b"\n  no wheel\nsecond line\n", "no wheel"),
                           (b"\xff\xfe broken", "\ufffd\ufffd broken"),
                           (b"", "could not be made by ./parabench peers"),
                           (b" \n", "could not be made by ./parabench peers")):
            with self.subTest(left):
                reason.write_bytes(left)
                self.assertTrue(self.reason("both").startswith(f"gadget: {told}; ./parabench peers"))

    def test_a_reason_of_the_installation_is_over_once_the_package_is_there(self):
        self.install("torch", "2.11.0")
        (self.environment / "reasons/gadget").write_text("no wheel for this Python\n")
        self.install("gadget", "0.7")
        self.assertIn("gadget 0.7 is installed, expected 0.7.1", self.reason("both"))
        shutil.rmtree(self.site / "gadget-0.7.dist-info")
        self.install("gadget", "0.7.1")
        self.assertEqual(self.reason("both"), "")

    def test_what_cannot_be_imported_gives_its_error_and_spoils_no_other_product(self):
        self.install("torch", "2.11.0")
        ends = "cannot be imported: its import ends Python"
        for module, told in (('raise OSError("libgadget.so is missing")',
                              "gadget 0.7.1 cannot be imported: OSError: libgadget.so is missing"),
                             ('raise OSError("\\nlibgadget.so\\nis missing")', "imported: OSError: libgadget.so;"),
                             ("raise ImportError", "gadget 0.7.1 cannot be imported: ImportError;"),
                             ("import sys; sys.exit(3)", "gadget 0.7.1 cannot be imported: SystemExit: 3;"),
                             ("import os; os._exit(3)", f"gadget 0.7.1 {ends} with code 3;"),
                             ("import os; os.kill(os.getpid(), 11)", f"gadget 0.7.1 {ends} by signal 11;")):
            with self.subTest(module):
                shutil.rmtree(self.site / "gadget-0.7.1.dist-info", ignore_errors=True)
                self.install("gadget", "0.7.1", module)
                reasons = self.probe("plain", "both")["products"]
                self.assertIn(told, reasons["both"])
                self.assertEqual(reasons["plain"], "")

    def test_a_package_whose_records_are_damaged_is_of_unknown_version(self):
        self.install("torch", "2.11.0")
        self.install("gadget", "0.7.1")
        (self.site / "gadget-0.7.1.dist-info/METADATA").write_text("")
        self.assertIn("gadget of unknown version is installed, expected 0.7.1", self.reason("both"))

    def test_an_environment_without_torch_is_broken_for_all_that_could_be_had(self):
        self.install("torch", "2.11.0", 'raise ImportError("libc10.so")')
        reasons = self.probe("plain", "both", "horovod")["products"]
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        for product in ("plain", "both"):
            self.assertEqual(reasons[product], f"torch cannot be imported by Python {python}: ImportError: libc10.so; "
                                               "./parabench peers makes the environment anew")
        self.assertIn("compiles for C++14", reasons["horovod"])

    def test_packages_that_talk_while_they_are_imported_spoil_no_answer(self):
        self.install("torch", "2.11.0", 'print("welcome")')
        self.assertEqual(self.reason("plain"), "")

    def test_horovod_gives_the_reason_why_it_cannot_be_had(self):
        self.install("torch", "2.11.0")
        self.install("horovod", "0.28.1")  # which changes nothing
        self.assertIn("0.28.1, compiles for C++14", self.reason("horovod"))


if __name__ == "__main__":
    PEER = pathlib.Path(sys.argv.pop(1))
    unittest.main()
