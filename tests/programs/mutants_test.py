"""What scripts/validation/mutants changes in a line, and what it leaves alone."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "scripts/validation/mutants"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


class Mutants(unittest.TestCase):
    def setUp(self):
        self.changes_of = load().changes_of

    def test_change_one_thing_at_a_time(self):
        self.assertEqual(list(self.changes_of("  if (a < b && c == 2) return;  // a < b")),
                         ["  if (a <= b && c == 2) return;  // a < b", "  if (a < b && c != 2) return;  // a < b",
                          "  if (a < b || c == 2) return;  // a < b", "  if (a < b && c == 3) return;  // a < b"])
        self.assertEqual(list(self.changes_of("return 0.5 * x;")), ["return 0.5 / x;", "return 0.55 * x;"])
        self.assertEqual(list(self.changes_of("bool found = false;")), ["bool found = true;"])

    def test_leave_brackets_names_strings_and_directives_alone(self):
        for line in ("std::vector<double> values;", "#include <cmath>", "fail(\"a < b\");", "// 1 < 2", "x2.y3 = z;",
                     "is_trueish();"):
            self.assertEqual(list(self.changes_of(line)), [], line)

    def test_are_many_in_every_part(self):
        module = load()
        for part, (patterns, _) in module.PARTS.items():
            self.assertGreater(len(list(module.mutants_of(ROOT, patterns))), 100, part)


if __name__ == "__main__":
    unittest.main()
