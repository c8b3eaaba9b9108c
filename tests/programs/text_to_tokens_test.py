"""Tests of scripts/text-to-tokens, run as its users run it."""

import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "text-to-tokens"


def run(*arguments, text=b""):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], input=text, capture_output=True, check=False)


def read_tokens(path):
    data = path.read_bytes()
    header = struct.unpack("<256i", data[:1024])
    return header, list(struct.unpack(f"<{(len(data) - 1024) // 2}H", data[1024:]))


class TextToTokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "tokens.bin"

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def leftovers(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_every_byte_is_a_token(self):
        data = bytes(range(256)) + "Zürich\n".encode()
        result = run("--out", self.out, self.file("text", data))
        self.assertEqual(result.returncode, 0, result.stderr)
        header, tokens = read_tokens(self.out)
        self.assertEqual(header[:3], (20240520, 1, 264))
        self.assertEqual(set(header[3:]), {0})
        self.assertEqual(tokens, list(data))
        self.assertIn(b"264 tokens", result.stdout)

    def test_files_follow_each_other_and_standard_input_is_one(self):
        first, last = self.file("first", b"ab"), self.file("last", b"ef")
        self.assertEqual(run("--out", self.out, first, "-", last, text=b"cd").returncode, 0)
        self.assertEqual(bytes(read_tokens(self.out)[1]), b"abcdef")

    def test_more_than_one_chunk(self):
        data = os.urandom((2 << 20) + 12345)
        self.assertEqual(run("--out", self.out, self.file("text", data)).returncode, 0)
        header, tokens = read_tokens(self.out)
        self.assertEqual(header[2], len(data))
        self.assertEqual(bytes(tokens), data)

    def test_an_old_file_stays_until_the_new_one_is_complete(self):
        self.out.write_bytes(b"old")
        result = run("--out", self.out, self.file("text", b"abc"), self.folder / "missing")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"missing", result.stderr)
        self.assertEqual(self.out.read_bytes(), b"old")
        self.assertEqual(self.leftovers(), ["text", "tokens.bin"])

    def test_too_little_text_is_refused(self):
        result = run("--out", self.out, self.file("text", b"a"))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"less than two bytes", result.stderr)
        self.assertEqual(self.leftovers(), ["text"])

    def test_an_output_that_cannot_be_written_is_named(self):
        result = run("--out", self.folder / "no" / "tokens.bin", self.file("text", b"abc"))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"text-to-tokens: ", result.stderr)
        self.assertNotIn(b"Traceback", result.stderr)

    def test_others_may_read_it_as_the_umask_says(self):
        previous = os.umask(0o022)
        self.addCleanup(os.umask, previous)
        run("--out", self.out, self.file("text", b"abc"))
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o644)

    def test_help_says_what_a_token_is(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"Tokens are bytes", result.stdout)
        self.assertEqual(run("text").returncode, 2)


if __name__ == "__main__":
    unittest.main()
