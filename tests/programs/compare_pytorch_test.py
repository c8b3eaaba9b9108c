"""Tests of scripts/validation/compare-pytorch without PyTorch: bounds, tables, what is read, and refusals. Where
PyTorch and training_dump (in LINKGAIN_BUILD) are there, linkgain's reference is compared with it."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "validation" / "compare-pytorch"
BUILD = Path(os.environ.get("LINKGAIN_BUILD", ROOT / "build" / "none"))
sys.path.insert(0, str(ROOT / "scripts" / "validation" / "lib"))
sys.dont_write_bytecode = True
import compare_pytorch as compare  # noqa: E402
from compare_pytorch import Comparison, Difference, InputError, Place, Row, Speed  # noqa: E402

# A PyTorch that has what is asked before anything is computed.
FAKE_TORCH = {
    "__init__.py": "from . import nn\n__version__ = '9.9'\nclass cuda:\n"
                   "    is_available = staticmethod(lambda: {cuda})\n"
                   "    get_device_name = staticmethod(lambda: 'fake GPU')\n",
    "nn/__init__.py": "from . import functional\nclass Module: pass\n",
    "nn/functional.py": "",
}


def row(own_rms, peer_rms, own_largest=0.0, peer_largest=0.0, name="tensor", floor=1e-6):
    return Row(name, Difference(own_largest, own_rms), Difference(peer_largest, peer_rms), floor)


class Bounds(unittest.TestCase):
    def test_differences_are_relative_to_the_truth(self):
        self.assertEqual(compare.relative(0.5, 0.25, 2.0), Difference(0.25, 0.125))
        self.assertEqual(compare.relative(0.0, 0.0, 0.0), Difference(0.0, 0.0))
        self.assertEqual(compare.relative(1e-30, 1e-30, 0.0), Difference(math.inf, math.inf))
        self.assertEqual(compare.relative(math.nan, math.nan, 1.0), Difference(math.inf, math.inf))

    def test_losses_are_each_relative_to_their_own_truth(self):
        largest, rms = compare.loss_difference([11.0, 5.0, 8.0], [10.0, 5.0, 10.0])
        self.assertAlmostEqual(largest, 0.2)
        self.assertAlmostEqual(rms, math.sqrt((0.01 + 0.0 + 0.04) / 3))
        self.assertEqual(compare.loss_difference([1.0, math.nan], [1.0, 1.0]), Difference(math.inf, math.inf))

    def test_twice_the_error_of_pytorch_is_kept_and_more_is_not(self):
        self.assertTrue(row(1.99e-3, 1e-3).kept)
        self.assertFalse(row(2.01e-3, 1e-3).kept)
        self.assertAlmostEqual(row(1e-3, 1e-3).share, 0.5, places=3)

    def test_largest_differences_may_be_three_times_as_large(self):
        self.assertTrue(row(1e-3, 1e-3, 2.99e-2, 1e-2).kept)
        self.assertFalse(row(1e-3, 1e-3, 3.01e-2, 1e-2).kept)

    def test_the_floor_stands_in_for_errors_that_are_small_by_chance(self):
        self.assertTrue(row(0.99e-6, 0.0).kept)
        self.assertFalse(row(1.01e-6, 0.0).kept)

    def test_what_is_no_number_is_never_kept(self):
        for own, peer in ((math.inf, 1e-3), (math.inf, math.inf), (math.nan, 1e-3), (1e-3, math.inf)):
            self.assertFalse(row(own, peer).kept, (own, peer))


class Tables(unittest.TestCase):
    def setUp(self):
        self.rows = [row(1e-3, 1e-3, name="transformer.wte.weight"),
                     row(1e-3, 1e-3, name="transformer.h.0.ln_1.bias"),
                     row(5e-3, 1e-3, name="transformer.h.11.ln_1.bias"),
                     row(1e-3, 1e-3, name="transformer.h.0.ln_2.bias")]
        self.comparison = Comparison("fp32", self.rows, ([2.5], [2.25], [2.125]))

    def test_blocks_are_folded_to_the_one_nearest_to_its_bound(self):
        folded = [(each.name, count) for each, count in compare.fold(self.rows)]
        self.assertEqual(folded, [("transformer.wte.weight", 1), ("transformer.h.11.ln_1.bias", 2),
                                  ("transformer.h.0.ln_2.bias", 1)])

    def test_a_bound_that_is_exceeded_stands_in_heading_and_row(self):
        text = self.comparison.markdown()
        self.assertIn("fp32: EXCEEDED, 3 of 4 bounds, at most 2.50 of one (transformer.h.11.ln_1.bias)", text)
        self.assertIn("| transformer.h.11.ln_1.bias (worst of 2) | 5.00e-03 | 0.00e+00 | 1.00e-03 | 0.00e+00 "
                      "| 2.50 **exceeded** |", text)
        self.assertIn("| 1 | 2.5000000 | 2.2500000 | 2.1250000 |", text)
        self.assertNotIn("transformer.h.0.ln_1.bias", text)
        self.assertIn("| transformer.h.0.ln_1.bias |", self.comparison.markdown(every_tensor=True))
        self.assertIn("fp32: kept, 3 of 3", self.comparison._replace(
            rows=[each for each in self.rows if each.kept]).markdown())

    def test_where_it_differs_most_stands_below_of_what_is_exceeded(self):
        placed = [each._replace(place=Place([3, 1], 0.5, 0.25)) for each in self.rows]
        text = self.comparison._replace(rows=placed).markdown()
        self.assertIn("transformer.h.11.ln_1.bias differs most at [3, 1]: 5.000000000e-01 instead of 2.5", text)
        self.assertEqual(text.count("differs most"), 1)

    def test_json_has_every_row(self):
        document = json.loads(json.dumps(self.comparison.as_json()))
        self.assertEqual(len(document["rows"]), 4)
        self.assertEqual(document["rows"][2]["linkgain"], {"largest": 0.0, "rms": 5e-3})
        self.assertEqual(document["losses"], {"linkgain": [2.5], "pytorch": [2.25], "float64": [2.125]})
        self.assertFalse(document["kept"])

    def test_json_has_no_infinity(self):
        rows = [row(math.inf, math.inf)._replace(place=Place([0], math.nan, 1.0))]
        document = self.comparison._replace(rows=rows, losses=([math.nan], [2.25], [2.125])).as_json()
        document = json.loads(json.dumps(document, allow_nan=False))
        self.assertEqual(document["rows"][0]["linkgain"], {"largest": 0.0, "rms": None})
        self.assertIsNone(document["rows"][0]["share_of_bound"])
        self.assertEqual(document["rows"][0]["largest_at"], {"index": [0], "own": None, "truth": 1.0})
        self.assertEqual(document["losses"]["linkgain"], [None])

    def test_speed_says_whether_there_was_communication(self):
        speeds = [Speed("fp32", 40.0, 80.0, None), Speed("bf16", 10.0, 25.0, None)]
        text = compare.speed_markdown(speeds, 0)
        self.assertIn("no DDP", text)
        self.assertIn("| bf16 | 10.00 | 25.00 | 2.50 |\n", text)
        text = compare.speed_markdown([Speed("fp32", 40.0, 80.0, 96.0)], 2)
        self.assertIn("DDP on 2 GPUs", text)
        self.assertIn("no communication", text)
        self.assertIn("| fp32 | 40.00 | 80.00 | 2.00 | 96.00 | 2.40 |\n", text)

    def test_the_step_of_gpu_step_timing(self):
        text = "tf32: 4 x 1024 tokens, dropout 0.1\n  step 21.125 ms (mean 21.3): forward 7.0, backward 13.0\n"
        self.assertEqual(compare.parse_step_timing(text), 21.125)
        with self.assertRaises(InputError):
            compare.parse_step_timing("tf32: 4 x 1024 tokens\n")


class Dumps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.index = {"format": 1, "element_type": "float32", "samples": 2, "length": 3, "steps": 5,
                      "model": {"channels": 64}, "precision": "fp32", "losses": [5.0, 4.0, 3.0, 2.0, 1.0],
                      "tensors": [{"name": "a", "shape": [4, 2], "offset": 0},
                                  {"name": "b", "shape": [3], "offset": 8}]}
        for name in ("parameters", "gradients", "updated"):
            (self.folder / f"{name}.bin").write_bytes(bytes(4 * 11))
        (self.folder / "tokens.bin").write_bytes(bytes(4 * 5 * 2 * 4))

    def read(self):
        (self.folder / "index.json").write_text(json.dumps(self.index), encoding="utf-8")
        return compare.read_index(self.folder)

    def refused(self, pattern):
        with self.assertRaisesRegex(InputError, pattern):
            self.read()

    def test_a_dump_is_read(self):
        self.assertEqual(self.read(), self.index)

    def test_a_loss_that_is_no_number_is_read_as_one(self):
        self.index["losses"][3] = None
        self.assertTrue(math.isnan(self.read()["losses"][3]))

    def test_losses_of_other_steps_and_what_is_missing_are_refused(self):
        self.index["losses"].pop()
        self.refused("4 losses of 5 steps")
        for name in ("model", "precision", "losses"):
            kept = self.index.pop(name)
            self.refused("KeyError")
            self.index[name] = kept
        self.index["precision"] = "fp8"
        self.refused("no model and precision that are known")

    def test_files_of_other_sizes_are_refused(self):
        (self.folder / "gradients.bin").write_bytes(bytes(43))
        self.refused("gradients.bin has 43 bytes, not 44")
        (self.folder / "gradients.bin").unlink()
        self.refused("gradients.bin")

    def test_double_elements_are_twice_as_long(self):
        self.index["element_type"] = "float64"
        self.refused("parameters.bin has 44 bytes, not 88")

    def test_gaps_and_other_formats_are_refused(self):
        self.index["tensors"][1]["offset"] = 9
        self.refused("b begins at 9, not 8")
        self.index["format"] = 2
        self.refused("format 2, not 1")
        del self.index["format"]
        self.refused("KeyError")


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fake_torch(self, cuda):
        for name, text in FAKE_TORCH.items():
            path = self.folder / "torch" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{cuda}", str(cuda)), encoding="utf-8")

    def no_torch(self):
        (self.folder / "torch.py").write_text("raise ImportError('it is hidden')\n", encoding="utf-8")

    def program(self, name, text):
        path = self.folder / "build" / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)

    def run_script(self, *words, **variables):
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        return subprocess.run([sys.executable, str(SCRIPT), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, env=environment)

    def refused(self, status, text, *words, **variables):
        result = self.run_script(*words, **variables)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        if status != 2:
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_without_pytorch_or_cuda(self):
        self.no_torch()
        self.refused(3, "PyTorch is not installed for")
        (self.folder / "torch.py").unlink()
        self.fake_torch(cuda=False)
        self.refused(3, "PyTorch 9.9 finds no CUDA device")

    def test_without_a_build(self):
        self.fake_torch(cuda=True)
        self.refused(3, "training_dump is not built in", "--build", str(self.folder / "build"))
        self.program("training_dump", "exit 0\n")
        self.refused(3, "gpu_step_timing is not built in", "--build", str(self.folder / "build"), "--speed")

    def test_a_program_that_fails(self):
        self.fake_torch(cuda=True)
        build = ("--build", str(self.folder / "build"))
        self.program("training_dump", "echo out of luck >&2; exit 1\n")
        self.refused(6, "failed with status 1: out of luck", *build)
        self.program("training_dump", "echo no GPU >&2; exit 3\n")
        self.refused(3, "no GPU", *build)
        self.program("training_dump", "exit 0\n")
        self.refused(6, "index.json", *build)

    def test_an_error_of_pytorchs_is_no_bound_that_is_not_kept(self):
        self.fake_torch(cuda=True)
        with (self.folder / "torch" / "__init__.py").open("a", encoding="utf-8") as module:
            module.write("class OutOfMemoryError(RuntimeError): pass\n"
                         "def device(name): raise OutOfMemoryError('CUDA out of memory')\n")
        self.program("training_dump", f"cp {self.folder}/dump/* \"$2\"\n")
        dump = self.folder / "dump"
        dump.mkdir()
        for name, count in (("parameters", 1), ("gradients", 1), ("updated", 1), ("tokens", 2)):
            (dump / f"{name}.bin").write_bytes(bytes(4 * count))
        (dump / "index.json").write_text(json.dumps({
            "format": 1, "element_type": "float32", "samples": 1, "length": 1, "steps": 1, "model": {},
            "precision": "fp32", "losses": [1.0], "tensors": [{"name": "a", "shape": [1], "offset": 0}]}),
            encoding="utf-8")
        self.refused(6, "CUDA out of memory", "--build", str(self.folder / "build"), "--precision", "fp32")

    def test_wrong_options(self):
        self.fake_torch(cuda=True)
        for words, text in ((["--precision", "fp16"], "fp16"), (["--precision", "fp64"], "--model tiny"),
                            (["--batch", "0"], "--batch"), (["--steps", "x"], "--steps"),
                            (["--model", "tiny", "--length", "33"], "more than 32"), (["--transformers"], "--speed"),
                            (["--model", "tiny", "--speed"], "gpt2"), (["--deviation", "-1"], "--deviation"),
                            (["--json", "/nowhere/at/all"], "--json"), (["--answers", "x"], "--precision fp64"),
                            (["extra"], "extra")):
            self.refused(2, text, *words)
        self.refused(2, "torchrun is for --speed", TORCHELASTIC_RUN_ID="1")

    def test_help_needs_nothing_and_has_examples(self):
        self.no_torch()
        result = self.run_script("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("examples:\n  scripts/validation/compare-pytorch", result.stdout)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
@unittest.skipUnless((BUILD / "bin" / "training_dump").is_file(), "training_dump is not built")
class Reference(unittest.TestCase):
    def test_has_pytorchs_losses_gradients_and_steps_in_double_precision(self):
        for words in (["--deviation", "0.1"], ["--deviation", "0", "--length", "20"]):
            result = subprocess.run(
                [sys.executable, str(SCRIPT), "--model", "tiny", "--precision", "fp64", "--build", str(BUILD),
                 "--batch", "2", "--steps", "4", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("fp64: kept, 30 of 30 bounds", result.stdout)


if __name__ == "__main__":
    unittest.main()
