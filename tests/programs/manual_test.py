"""Asks real shells to complete the programs' command lines, compares docs/man with what help2man makes of --help, and has
man read these pages.

usage: manual_test.py BIN, the folder with linkgain and linkgain-bench. What is not installed is skipped.
LINKGAIN_UPDATE_GOLDENS=1 writes the pages anew.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPLETIONS = ROOT / "scripts" / "completions"
PAGES = ROOT / "docs" / "man"
BIN = pathlib.Path(sys.argv.pop(1)).resolve()
os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
PROMPT = "ready> "
SECONDS = 60

# How each shell begins: nothing of the machine's own, the completion as an installation puts it.
BASH = f"""PS1='{{prompt}}'; bind 'set enable-bracketed-paste off' 'set bell-style none'; . '{COMPLETIONS}/linkgain.bash'
"""
ZSH = f"""unsetopt zle_bracketed_paste; unset zle_bracketed_paste; fpath=('{COMPLETIONS}' $fpath); autoload -U compinit; compinit -u -D; PS1='{{prompt}}'
"""


class Shell:
    """A shell on a terminal of its own, as somebody types into it."""

    def __init__(self, words, begin, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", INPUTRC="/dev/null", LC_ALL="C")
            os.execvp(words[0], words)
        self.shown = ""
        # Quotes within the prompt: what is typed is shown, too, and is not the prompt yet.
        self.type(begin.format(prompt="rea''dy> "))
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
    ("linkgain comp", "are"),
    ("linkgain help doc", "tor"),
    ("linkgain run --sch", "edule"),
    ("linkgain run --schedule seq", "uential"),
    ("linkgain run --schedule=seq", "uential"),
    ("linkgain run --only all_reduce,send", "_recv"),
    ("linkgain run --variant shared", "-memory"),
    ("linkgain exec --variant p2p-", "sys"),
    ("linkgain doctor --verb", "ose"),
    ("linkgain doctor --explain nvlink-li", "nks"),
    ("linkgain compare nigh", "tly"),
    ("linkgain compare nightly rec", "ord.json"),
    ("linkgain run --resume fold", "er"),
    ("linkgain exec --rounds 2 -- mkfif", "o"),
    ("linkgain exec -- cat rec", "ord.json"),
    ("linkgain-bench --sam", "ple"),
)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "folder").mkdir()
        (cls.folder / "record.json").touch()
        subprocess.run([BIN / "linkgain", "exec", "--rounds", "1", "--label", "nightly", "--quiet", "--", "true"],
                       cwd=cls.folder, capture_output=True, timeout=SECONDS, check=False)

    def completes(self, words, begin):
        if shutil.which(words[0]) is None:
            self.skipTest(f"{words[0]} is not installed")
        for typed, rest in COMPLETED:
            with self.subTest(typed):
                shell = Shell(words, begin, self.folder)
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
        for typed, rest in COMPLETED:
            with self.subTest(typed):
                done = subprocess.run(
                    ["fish", "--no-config", "-c", f"source '{COMPLETIONS}/linkgain.fish'; complete -C '{typed}'"],
                    env=dict(os.environ, HOME=str(self.folder)), cwd=self.folder, capture_output=True, text=True, timeout=SECONDS,
                    check=False)
                found = [line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()]
                self.assertIn((typed + rest).split()[-1], found, done.stderr)

    def test_words_have_their_help_and_kinds(self):
        for words, expected in ((["topo", "--js"], "--json\tThe same as --format json\n"),
                                (["list", ""], ":folders\n"),
                                (["report", ""], "nightly\n:files\n"),
                                (["run", "--profile", "./n"], ":files\n"),
                                (["run", "--nope", "x"], ""),
                                (["run", "--sizes", ""], "")):
            done = subprocess.run([BIN / "linkgain", "--complete", *words], cwd=self.folder, capture_output=True, text=True,
                                  timeout=SECONDS, check=True)
            self.assertEqual(done.stdout, expected, words)


def text_of(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def commands_with_pages():
    """linkgain, each of its commands with a help of its own, and linkgain-bench: the page of linkgain bench is the worker's."""
    names = re.findall(r"^  ([a-z]+) ", text_of(BIN / "linkgain", "--help").split("Options:")[0], re.MULTILINE)
    return ["linkgain", *(f"linkgain {name}" for name in names if name not in ("help", "bench")), "linkgain-bench"]


def section_of(title, page, heading, command=None):
    """A section of roff with the rows of the table below that heading of docs; of three columns those used by `command`."""
    table = (ROOT / "docs" / page).read_text().split(f"\n{heading}\n")[1].split("\n## ")[0]
    text = f"[{title}]\n"
    for name, users, what in re.findall(r"^\| (`.*?) \| (?:([^|]*) \| )?(.*?) \|$", table, re.MULTILINE):
        if users not in ("", "all") and f"`{command}`" not in users and command != "linkgain":
            continue
        plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").replace("-", "\\-") for cell in (name, what)]
        text += ".TP\n.B {}\n{}\n".format(*plain)
    return text


def page_of(command, others):
    """What help2man makes of the command's help, without the date and help2man's version."""
    name = command.replace(" ", "-")
    before, behind = text_of(*command.split(), "--help").split("Usage: " + command)
    summary = " ".join(before.split()).removeprefix(command + ": ")
    usage = ".B {}\n.I {}\n".format(command.replace("-", "\\-"), behind.split("\n")[0].strip())
    version = text_of(command.split()[0], "--version").split()[1].split("+")[0]
    with tempfile.NamedTemporaryFile("w", suffix=".h2m") as include:
        include.write("[synopsis]\n" + usage)
        if name in ("linkgain-run", "linkgain-exec"):
            include.write(section_of("files", "run.md", "## Output files"))
        if name in ("linkgain", "linkgain-run", "linkgain-exec"):
            include.write(section_of("environment", "reference.md", "## Environment variables", command.split()[-1]))
        include.write("[see also]\n" + ",\n".join(f".BR {other} (1)" for other in others if other != name) + "\n")
        include.flush()
        page = text_of("help2man", "--no-info", f"--name={summary}", f"--version-string={name} (linkgain) {version}",
                       f"--include={include.name}", command)
    page = re.sub(r"by help2man \S+", "by help2man.", page)
    page = re.sub(r"^\.SH DESCRIPTION\n.*\n\.PP\n", ".SH DESCRIPTION\n", page, flags=re.MULTILINE)  # NAME has that line
    return re.sub(r'^(\.TH \S+ "1") "[^"]*"', r'\1 ""', page, flags=re.MULTILINE)


class Pages(unittest.TestCase):
    def test_pages_are_what_help2man_makes_of_the_help(self):
        if shutil.which("help2man") is None:
            self.skipTest("help2man is not installed")
        commands = commands_with_pages()
        names = [command.replace(" ", "-") for command in commands]
        update = os.environ.get("LINKGAIN_UPDATE_GOLDENS") == "1"
        for command, name in zip(commands, names):
            with self.subTest(command):
                page = page_of(command, ["linkgain", "linkgain-bench"] if name != "linkgain" else names)
                if update:
                    (PAGES / f"{name}.1").write_text(page)
                self.assertEqual((PAGES / f"{name}.1").read_text(), page, "LINKGAIN_UPDATE_GOLDENS=1 writes the page anew")
        self.assertEqual(sorted(path.stem for path in PAGES.iterdir()), sorted(names))

    def test_groups_stand_in_the_order_of_the_help(self):
        page = (PAGES / "linkgain-run.1").read_text()
        headings = re.findall(r'^\.S[HS] "?([^"\n]*)', page, re.MULTILINE)
        self.assertEqual(headings, ["NAME", "SYNOPSIS", "DESCRIPTION", "What to measure:", "How to measure:", "Training:",
                                    "Where it runs:", "Output:", "Exit status:", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"])

    def test_pages_name_the_variables_of_their_command(self):
        variables = {name: (PAGES / f"linkgain-{name}.1").read_text().split(".SH ENVIRONMENT")[1].split(".SH")[0]
                     for name in ("run", "exec")}
        for name, own, others in (("run", "SLURM_MPI_TYPE", "PYTHONUNBUFFERED"), ("exec", "PYTHONUNBUFFERED", "SLURM_MPI_TYPE")):
            self.assertIn(own, variables[name])
            self.assertNotIn(others, variables[name])
            self.assertNotIn("NCCL_TESTS_MIN_BW", variables[name])
            self.assertIn("NO_COLOR", variables[name])

    def test_man_reads_every_page_without_a_warning(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        pages = sorted(PAGES.glob("*.1"))
        self.assertIn("linkgain-run.1", [page.name for page in pages])
        self.assertIn("linkgain-bench.1", [page.name for page in pages])
        for page in pages:
            with self.subTest(page.name):
                done = subprocess.run(["man", "--warnings", "-l", page], env=dict(os.environ, MANPAGER="cat", MANWIDTH="80"),
                                      capture_output=True, text=True, timeout=SECONDS, check=True)
                self.assertEqual(done.stderr, "")
                self.assertIn("DESCRIPTION", done.stdout)


if __name__ == "__main__":
    unittest.main()
