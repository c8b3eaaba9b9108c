"""Tests of scripts/lib/prose.py, run as scripts/lint runs it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib" / "prose.py"
SHORT = "This has four words."


def words(count):
    return "Word " + "word " * (count - 2) + "word"


class Prose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, text, name="page.md"):
        """Status and complaints for one file."""
        file = self.folder / name
        file.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def passes(self, text, name="page.md"):
        self.assertEqual(self.check(text, name), (0, ""))

    def fails(self, text, complaint, name="page.md"):
        status, said = self.check(text, name)
        self.assertEqual(status, 1)
        self.assertIn(complaint, said)

    @staticmethod
    def wrapped(text):
        """With a line for every ten words, so that no line is too wide."""
        tokens = text.split()
        return "\n".join(" ".join(tokens[at:at + 10]) for at in range(0, len(tokens), 10))

    def test_a_sentence_too_long_is_named_with_its_place(self):
        padding = (SHORT + "\n\n") * 3
        self.passes(padding + self.wrapped(words(35)))
        self.fails(padding + self.wrapped(words(36)), "page.md:7: a sentence of 36 words, at most 35: Word word")

    def test_the_average_is_that_of_a_page(self):
        self.passes(self.wrapped(f"{words(18)}. {words(18)}."))
        self.fails(self.wrapped(f"{words(18)}. {words(19)}."), "page.md: 18.5 words a sentence on average")

    def test_what_is_no_running_text_does_not_count(self):
        for text in (f"```sh\n{words(40)}\n```\n", f"```console\n```sh\n{words(40)}\n```\n", f"| {words(40)} |\n",
                     f"# {words(40)}\n", f"<!-- {words(40)}\n{words(40)} -->\n", f"Run `{words(17)}`.\n"):
            self.passes(text)

    def test_text_after_a_block_counts_again(self):
        self.fails("```sh\ncode\n```\n" + self.wrapped(words(36)), "page.md:4")

    def test_sentences_and_items_of_lists_end(self):
        for text in (f"{words(15)}. linkgain {words(15)}.", f"{words(15)}! {words(15)}?", f"{words(15)}. 8 {words(15)}",
                     f"{words(15)}.) {words(15)}"):
            self.passes(self.wrapped(text))
        self.passes(f"- {words(15)}\n- {words(15)}\n1. {words(15)}\n")

    def test_versions_and_abbreviations_do_not_end_one(self):
        self.fails(self.wrapped(f"{words(12)} e.g. {words(12)} 2.28.3 {words(12)}"), "a sentence of 38 words")

    def test_lines_are_at_most_100_columns_wide(self):
        self.passes(f"x {'y' * 98}\n")
        self.fails(f"x {'y' * 99}\n", "page.md:1: 101 columns, at most 100")

    def test_messages_are_string_literals(self):
        long = words(36)
        self.fails(f'throw Error("{long[:70]}"\n            "{long[70:]}");', "source.cpp:1: a sentence of 36 words",
                   "source.cpp")
        self.fails(f'f(\n  R"({long})");', "source.cpp:2: a sentence of 36 words", "source.cpp")
        self.passes(f'// {long}\n/* "{long}" */\nf("{words(14)}.", "{words(14)}. " + name + "{words(14)}", \'"\');',
                    "source.cpp")
        self.passes(f'#include "a b c d e"\nf("a/b/c " "{"--option " * 40}");', "source.cpp")
        self.fails(f'f("{words(34)} {{:.3f}} of {{}}");', "a sentence of 37 words", "source.cpp")

    def test_a_line_of_a_message_is_a_sentence(self):
        self.passes(f'f("{words(14)}\\n{words(14)}\\n\\n{words(14)}");', "source.cpp")


if __name__ == "__main__":
    unittest.main()
