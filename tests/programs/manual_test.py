"""Asks real shells to complete the programs' command lines, and man to read their pages.

usage: manual_test.py SHARE, the folder with those of linkgain and linkgain-bench. What is not installed is skipped.
"""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SHARE = pathlib.Path(sys.argv.pop(1)).resolve()
PROMPT = "ready> "
SECONDS = 60

# How each shell begins: nothing of the machine's own, the completion as an installation puts it.
BASH = """PS1='{prompt}'; bind 'set enable-bracketed-paste off' 'set bell-style none'; . '{share}/bash-completion/completions/{program}'
"""
ZSH = """unsetopt zle_bracketed_paste; unset zle_bracketed_paste; fpath=('{share}/zsh/site-functions' $fpath); autoload -U compinit; compinit -u -D; PS1='{prompt}'
"""


class Shell:
    """A shell on a terminal of its own, as somebody types into it."""

    def __init__(self, words, program, begin):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(TERM="dumb", INPUTRC="/dev/null", LC_ALL="C")
            os.execvp(words[0], words)
        self.shown = ""
        # Quotes within the prompt: what is typed is shown, too, and is not the prompt yet.
        self.type(begin.format(prompt="rea''dy> ", program=program, share=SHARE / program))
        self.wait_for(PROMPT)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text):
        """Whether the text is shown from here on; forgets what is shown before its end."""
        end = time.monotonic() + SECONDS
        while text not in self.shown:
            if not select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            try:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace").replace("\r", "").replace("\a", "")
            except OSError:
                return False
        self.shown = self.shown[self.shown.index(text) + len(text):]
        return True

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


COMPLETED = (
    ("linkgain", "linkgain comp", "are "),
    ("linkgain", "linkgain run --sch", "edule"),
    ("linkgain", "linkgain run --schedule seq", "uential"),
    ("linkgain", "linkgain run --only all_reduce,send", "_recv"),
    ("linkgain", "linkgain doctor --verb", "ose"),
    ("linkgain-bench", "linkgain-bench --sam", "ple"),
)


class Completion(unittest.TestCase):
    def completes(self, words, begin):
        if shutil.which(words[0]) is None:
            self.skipTest(f"{words[0]} is not installed")
        for program, typed, rest in COMPLETED:
            with self.subTest(typed):
                shell = Shell(words, program, begin)
                self.addCleanup(shell.close)
                shell.type(typed + "\t")
                self.assertTrue(shell.wait_for(typed + rest), f"{typed}<TAB> shows: {shell.shown!r}")

    def test_bash_completes(self):
        self.completes(["bash", "--norc", "--noprofile", "-i"], BASH)

    def test_zsh_completes(self):
        self.completes(["zsh", "-f", "-i"], ZSH)

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        with tempfile.TemporaryDirectory() as home:
            for program, typed, rest in COMPLETED:
                source = SHARE / program / "fish" / "vendor_completions.d" / f"{program}.fish"
                done = subprocess.run(
                    ["fish", "--no-config", "-c", f"source '{source}'; complete -C '{typed}'"], env=dict(os.environ, HOME=home),
                    capture_output=True, text=True, timeout=SECONDS, check=False)
                found = [line.split("\t")[0] for line in done.stdout.splitlines()]
                self.assertEqual(found, [(typed + rest).split()[-1]], done.stderr)


class Pages(unittest.TestCase):
    def test_man_reads_every_page_without_a_warning(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        pages = sorted(SHARE.glob("*/man/man1/*.1"))
        self.assertIn("linkgain-run.1", [page.name for page in pages])
        self.assertIn("linkgain-bench.1", [page.name for page in pages])
        for page in pages:
            with self.subTest(page.name):
                done = subprocess.run(["man", "--warnings", "-l", page], env=dict(os.environ, MANPAGER="cat", MANWIDTH="80"),
                                      capture_output=True, text=True, timeout=SECONDS, check=True)
                self.assertEqual(done.stderr, "")
                self.assertIn("OPTIONS", done.stdout)


if __name__ == "__main__":
    unittest.main()
