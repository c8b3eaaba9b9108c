"""Makes a wheel of the programs that are built already, installs it into a virtual environment, and runs it there.

Environment: LINKGAIN_BUILD is the build folder, where scripts/test --cluster puts what makes wheels; NVML_DOUBLE.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["LINKGAIN_BUILD"])
PYTHON = BUILD / "wheel-tools" / "bin" / "python"
FILES = pathlib.Path(__file__).with_name("golden") / "wheel_files.txt"


def output_of(*command, status=0, **variables):
    done = subprocess.run(command, text=True, capture_output=True, check=False, env={**os.environ, **variables})
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode} of {command}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        work = pathlib.Path(cls.folder.name)
        output_of(PYTHON, "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "--wheel-dir", work,
                  "--config-settings=cmake.source-dir=tests/programs/wheel", f"--config-settings=build-dir={work / 'build'}",
                  f"--config-settings=cmake.args=-DBUILT={BUILD}")
        cls.wheel, = work.glob("*.whl")
        cls.environment = work / "environment"
        output_of(PYTHON, "-m", "venv", "--without-pip", cls.environment)
        output_of(PYTHON, "-m", "pip", "--python", cls.environment / "bin/python", "install", "--no-deps", "--no-index", cls.wheel)

    def run_program(self, *command, status=0, **variables):
        return output_of(self.environment / "bin" / command[0], *command[1:], status=status, **variables)

    def test_holds_both_programs_and_what_belongs_to_them(self):
        names = sorted(name for name in zipfile.ZipFile(self.wheel).namelist() if "/doc/" not in name)
        if os.environ.get("LINKGAIN_UPDATE_GOLDENS"):
            FILES.write_text("\n".join(names) + "\n")
        self.assertEqual(names, FILES.read_text().splitlines())

    def test_is_for_every_python_3_and_the_systems_that_auditwheel_finds(self):
        tag = json.loads(output_of(PYTHON, "-m", "auditwheel", "show", "--json", self.wheel))["overall_tag"]
        self.assertEqual(self.wheel.name.split("-", 2)[2], f"py3-none-{tag}.whl")

    def test_programs_run_without_python(self):
        for program in ("linkgain", "linkgain-bench"):
            self.assertEqual((self.environment / "bin" / program).read_bytes()[:4], b"\x7fELF")
            self.assertRegex(self.run_program(program, "--version"), rf"^{program} \d")

    def test_topo_needs_a_gpu(self):
        self.run_program("linkgain", "topo", status=3, LINKGAIN_NVML_LIBRARY="/nowhere/libnvidia-ml.so.1")

    def test_measures_without_mpirun(self):
        # Named, since linkgain itself may be built without GPUs.
        variants = [word for name in ("first", "second")
                    for word in ("--variant", f"{name}:worker={self.environment / 'bin/linkgain-bench'}")]
        output = self.run_program(
            "linkgain", "run", "--launcher", "local", "--only", "all_reduce", "--sizes", "8", "--launches", "1", *variants,
            "--out", str(self.environment / "record"),
            LINKGAIN_NVML_LIBRARY=os.environ["NVML_DOUBLE"], LINKGAIN_NVML_SCENARIO="no-nvlink")
        self.assertIn("all_reduce graph 8 B", output)


if __name__ == "__main__":
    if not PYTHON.exists():
        print("nothing here makes wheels (scripts/test --cluster gets it)")
        sys.exit(77)
    unittest.main()
