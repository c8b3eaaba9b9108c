"""Test of the options that messages name: each is one of the program that prints it, and what both modes of
linkgain-bench print has a flag in nccl-tests' mode, too."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKGAIN = os.environ["LINKGAIN"]
BENCH = os.environ["LINKGAIN_BENCH"]

# Of other programs that advice names: nvidia-smi, docker, systemd, Slurm, pip, CMake, vLLM, git.
FOREIGN = {"--cpus", "--cpus-per-task", "--disable-custom-all-reduce", "--exclusive", "--gpu-reset", "--hostname", "--install", "--ipc",
           "--no-deps", "--nodelist", "--nodes", "--pid", "--pids-limit", "--preserve-env", "--preset", "--scope", "--shm-size", "--status", "--target",
           "--ulimit", "--wait"}
# What nccl-tests' mode cannot run into: it has no such cases.
NOT_OF_NCCL_TESTS = {"--kernels", "--hidden", "--in-place", "--pattern", "--pair", "--steps", "--tokens", "--model-size", "--strategy",
                     "--training-precision", "--batch", "--sequence", "--dropout", "--buckets", "--bucket-mb", "--serve",
                     "--describe", "--load", "--prove", "--sample", "--version"}
# Whose literals are other programs' command lines.
OF_OTHERS = {"bench/coordinator/exec/presets.cpp"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z_-]*[a-z]")


def options_of(*command: str) -> set:
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(OPTION.findall(text))


def messages_in(*folders: str) -> set:
    """Options named within literals that are sentences: an option's own declaration is a word alone."""
    named = set()
    for folder in folders:
        for path in sorted((ROOT / "bench" / folder).rglob("*.[ch]pp")):
            if str(path.relative_to(ROOT)) in OF_OTHERS:
                continue
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text()):
                if " " in literal:
                    named |= {(option, str(path.relative_to(ROOT))) for option in OPTION.findall(literal)}
    return named


class Advice(unittest.TestCase):
    def test_of_the_coordinator_names_options_that_are_there(self):
        commands = re.findall(r"^  ([a-z]+) ", subprocess.run([LINKGAIN, "--help"], capture_output=True, text=True, check=True).stdout,
                              re.M)
        known = FOREIGN | options_of(LINKGAIN, "--help") | options_of(BENCH, "--help")
        for command in commands:
            known |= options_of(LINKGAIN, "help", command)
        named = messages_in("coordinator", "programs/linkgain", "common")
        self.assertGreater(len(named), 50)
        self.assertLessEqual(FOREIGN, {option for option, _ in named}, "the list has what nothing names")
        self.assertEqual([each for each in sorted(named) if each[0] not in known and not each[0].startswith("--benchmark")], [])

    def test_of_ranks_names_options_of_their_mode(self):
        bench = options_of(BENCH, "--help") | FOREIGN | {"--mpi"}  # srun has it
        run = options_of(LINKGAIN, "help", "run") | options_of(LINKGAIN, "help", "exec")
        nccl_tests = options_of(BENCH, "--format", "nccl-tests", "--help") | FOREIGN | {"--mpi"}
        source = (ROOT / "bench/common/nccl_tests/nccl_tests.cpp").read_text()
        flags = dict(re.findall(r'\{"(--[a-z-]+)", "(-[a-zA-Z])"\}', source))
        self.assertEqual(set(flags) & nccl_tests, set(), "only what the mode lacks is replaced")
        named = messages_in("worker", "programs/linkgain_bench", "common/cases")
        self.assertGreater(len(named), 20)
        for option, path in sorted(named):
            if option.startswith("--benchmark"):
                continue
            of_run_alone = path.startswith("bench/common") and option in run - bench
            self.assertTrue(option in bench or of_run_alone, f"{option} of {path}")
            self.assertTrue(option in nccl_tests or option in flags or option in NOT_OF_NCCL_TESTS or of_run_alone,
                            f"{option} of {path}")


if __name__ == "__main__":
    unittest.main()
