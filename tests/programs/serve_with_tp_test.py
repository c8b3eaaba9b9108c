"""Tests of scripts/validation/serve-with-tp without GPUs: options, ranks that fail, and where PyTorch is, what is decoded."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validation" / "serve-with-tp"
SMALL = "--model tiny --device cpu --batch 1 3 --context 16 --prompt 20 --steps 3 --repetitions 1".split()


class ServeWithTp(unittest.TestCase):
    def serve(self, *words, torch=None):
        """With a torch of this text in the place of PyTorch."""
        with tempfile.TemporaryDirectory() as folder:
            if torch is not None:
                (pathlib.Path(folder) / "torch.py").write_text(torch)
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": folder}
            return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, env=environment,
                                  timeout=150, check=False)

    def test_wrong_options_are_refused_before_a_rank_is_started(self):
        for words, why in (("--layers 33", "--layers is 1 to 32 for llama-3-8b"), ("--layers 0", "1 to 32"),
                           ("--tp 3", "--tp divides the 8 heads"), ("--tp 0", "--tp divides"), ("--batch 1 0", "at least 1"),
                           ("--prompt -1", "--prompt at least 0"), ("--model llama-2", "invalid choice")):
            done = self.serve(*words.split(), torch="raise ImportError")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(why, done.stderr)

    def test_without_pytorch_the_machine_lacks_it(self):
        done = self.serve(torch="raise ImportError('no PyTorch here')")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no PyTorch here", done.stderr)

    def test_a_rank_that_fails_ends_those_that_wait_for_it(self):
        for end, status in (("sys.exit(1)", 1), ("os.kill(os.getpid(), 9)", 1), ("sys.exit(3)", 3)):
            done = self.serve("--tp", "4", torch=f"import os, sys, time\nif sys.argv[-1] == '2': {end}\ntime.sleep(600)")
            self.assertEqual(done.returncode, status, end)

    @unittest.skipUnless(subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0,
                         "PyTorch is not here")
    def test_two_ranks_decode_what_one_does(self):
        said = []
        for ranks in "1", "2":
            done = self.serve(*SMALL, "--tp", ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append([line for line in done.stdout.splitlines() if "token" in line and "second" not in line])
            for metric in "decode_step_ms_batch_1", "decode_step_ms_batch_3", "tokens_per_second_batch_3", "prefill_ms":
                self.assertRegex(done.stdout, rf"(?m)^{metric}: [0-9]+\.[0-9]{{4}}$")
        self.assertEqual(said[0], said[1])
        self.assertEqual(len(said[0]), 3)


if __name__ == "__main__":
    unittest.main()
