"""Other products can build every operation that a model has. Argument: the repository. Sources are read, not imported:
torch is not needed."""
import ast
import pathlib
import re
import sys
import unittest

# What models/spec/synchronised.h makes of a batch norm under sync_bn:on, which no product is trained with.
OF_SYNC_BN = {"BatchStatistics", "BatchNormBy"}


def operations():
    text = (ROOT / "models/spec/operation.h").read_text()
    return {name.strip() for name in re.search(r"using Operation = std::variant<([^>]*)>", text)[1].split(",")}


def network():
    return ast.parse((ROOT / "suite/peer/network.py").read_text())


def built():
    """Keys of MAKERS, and what Layer compares an operation's type with because it is built of more than its fields."""
    names = set()
    for node in ast.walk(network()):
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["MAKERS"]:
            names |= {key.value for key in node.value.keys}
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "operation['type']":
            names |= {one.value for one in node.comparators if isinstance(one, ast.Constant)}
    return names


class OperationsTest(unittest.TestCase):
    def test_every_operation_has_a_module(self):
        self.assertEqual(built(), operations() - OF_SYNC_BN)

    def test_what_has_none_is_an_operation_of_sync_bn_which_products_refuse(self):
        self.assertLessEqual(OF_SYNC_BN, operations())
        made = (ROOT / "models/spec/synchronised.cpp").read_text()
        for name in OF_SYNC_BN:
            self.assertIn(name, made)

    def test_names_are_those_of_the_model_as_json(self):
        written = re.findall(r'"type", "(\w+)"', (ROOT / "models/spec/model_json.cpp").read_text())
        self.assertEqual(set(written), operations())


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
