"""Runs scripts/validation/check-includes on a build of three sources, one of which forgets an include."""

import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SOURCES = {
    "whole.cpp": "#include <string>\nstd::string text;\n",
    "forgetful.cpp": "std::string text;\n",
    # Not checked: nothing is precompiled for it.
    "alone.cpp": "std::string text;\n",
}


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "cmake_pch.hxx").write_text("#include <string>\n")
        entries = []
        for name, text in SOURCES.items():
            (self.build / name).write_text(text)
            precompiled = f"-include {self.build}/cmake_pch.hxx " if name != "alone.cpp" else ""
            entries.append({"directory": str(self.build), "file": str(self.build / name),
                            "command": f"c++ -std=c++20 -fsanitize=address -Winvalid-pch {precompiled}"
                                       f"-o {name}.o -c {self.build}/{name}"})
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def check(self, *arguments):
        return subprocess.run([ROOT / "scripts/validation/check-includes", *arguments], capture_output=True, text=True)

    def test_names_the_source_that_forgets_an_include(self):
        done = self.check(self.build)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"{self.build}/forgetful.cpp:\n", done.stdout)
        self.assertNotIn("whole.cpp", done.stdout)
        self.assertNotIn("alone.cpp", done.stdout)
        self.assertIn("1 of 2 sources", done.stdout)

    def test_accepts_those_that_include_what_they_use(self):
        done = self.check(self.build, "whole")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_leaves_no_object_behind(self):
        self.check(self.build)
        self.assertEqual(list(self.build.glob("*.o")), [])

    def test_refuses_what_it_cannot_look_at(self):
        for arguments in (["/no/such/build"], [self.build, "nothing-matches"], ["--jobs", "x", self.build], []):
            self.assertEqual(self.check(*arguments).returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main()
