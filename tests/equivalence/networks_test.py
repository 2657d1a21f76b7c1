"""The gate has a size of every model that the program lists, and the program plans it. PARABENCH names the program."""
import importlib.machinery
import importlib.util
import os
import pathlib
import unittest

loader = importlib.machinery.SourceFileLoader("check", str(pathlib.Path(__file__).parent / "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)


class NetworksTest(unittest.TestCase):
    def test_every_model_has_a_size_that_can_be_planned(self):
        self.assertTrue(list(check.read_networks(os.environ["PARABENCH"])))


if __name__ == "__main__":
    unittest.main()
