"""Tests of scripts/lib/words.py and of the words in scripts/lib/words.txt."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"
sys.path.insert(0, str(LIBRARY))
import words  # pylint: disable=wrong-import-position

# A text that each rule of words.txt must find, in its order.
PLANTED = (
    "the ROADS", "way between GPUs", "kNvlinkWires", "held back", "launch_spread", "a size ladder", "what NCCL leaves",
    "takes no less time",
    "not told from 0", "mended", "cannot be had", "the page's table", "design.md", "hold the stream", "comes up",
    "tell the flag", "SharedSums", "low-latency", "lane", "relays", "peer_box", "there and back", "chase", "queries' turns",
    "log_sums", "gpu_ends", "what steers it", "kTasters", "bye", "come round", "younger", "unless given", "held against",
    "too good to be true", "does not heed", "is reckoned")


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = self.folder / "words.txt"
        self.rules.write_text("# a comment\nroads? | path\nheld back | throttled\nlanes? | ring\n! pcie lanes | *.cpp | PCIe's\n")

    def check(self, text, *options, name="some.cpp"):
        """Complaints on one file, without its folder; none with status 0."""
        (self.folder / name).write_text(text)
        done = subprocess.run([sys.executable, LIBRARY / "words.py", "--rules", self.rules, *options, name],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return done.stderr.replace(f"{self.folder}/", "")

    def test_a_word_is_found_with_its_line_and_what_to_say(self):
        self.assertEqual(self.check("// a\n// road\n"), "some.cpp:2: 'road': say path\n")

    def test_a_word_is_found_within_names(self):
        for text in ("kSameRoad", "same_road", "SAME_ROAD", "same-road", "sameRoads2", "ROADMap"):
            self.assertIn(": say path", self.check(f"int {text};"), text)

    def test_a_part_of_a_word_is_none(self):
        self.assertEqual(self.check("ncclBroadcast(broadcast_roadmap, abroad);"), "")

    def test_words_are_found_across_lines_of_a_comment_or_text(self):
        for text in ("/// was held\n/// back", "// was held\n  // back", '"was held "\n    "back"', "# held\n# back", "held\\nback",
                     "**held**\nback"):
            self.assertIn("some.cpp:1: 'held back'", self.check(text), text)

    def test_a_mark_separates(self):
        self.assertEqual(self.check("It is held. Back to work."), "")

    def test_an_exception_covers_its_text_in_its_files(self):
        self.assertEqual(self.check("PCIe lanes"), "")
        self.assertIn("'lanes'", self.check("PCIe lanes", name="page.md"))
        self.assertIn("'lanes'", self.check("all lanes"))

    def test_an_exception_that_no_file_needs_is_a_complaint(self):
        self.assertEqual(self.check("PCIe lanes", "--unused"), "")
        self.assertEqual(self.check("lanes", "--unused"),
                         "some.cpp:1: 'lanes': say ring\nwords.txt:5: no file needs this exception: pcie lanes\n")

    def test_a_line_that_is_no_rule_is_refused(self):
        self.rules.write_text("roads\n")
        self.assertIn("words.txt:1: a rule is", self.check("road"))
        self.rules.write_text("! roads | *.cpp | first of all\n")
        self.assertIn("words.txt:1: an exception is", self.check("road"))


class Rules(unittest.TestCase):
    def test_ways_that_are_no_paths_are_not_found(self):
        ways = next(rule for rule in words.read_rules(words.RULES) if "ways?" in rule.pattern)
        for path in ("the way to a peer", "two ways between ranks", "their ways", "kRoute", "one way through the machine"):
            self.assertTrue(list(words.Text("", path).find(ways.pattern)), path)
        for idiom in ("by way of a file", "on the way", "in the way of", "in a way", "halfway", "both ways between GPUs"):
            self.assertFalse(list(words.Text("", idiom).find(ways.pattern)), idiom)

    def test_each_rule_finds_what_is_planted(self):
        rules = words.read_rules(words.RULES)
        self.assertEqual(len(rules), len(PLANTED))
        for rule, planted in zip(rules, PLANTED):
            self.assertTrue(list(words.Text("", f"It {planted} here").find(rule.pattern)), planted)


if __name__ == "__main__":
    unittest.main()
