"""Finds words that linkgain does not use, with what it says instead: scripts/lib/words.txt has both.

usage: words.py [--rules FILE] [--unused] FILE...

A complaint, and status 1, for each word found, within names (kRunPlan, run_plan) and across ends of
lines too; with --unused also for each exception that none of these files needs.
"""
import argparse
import bisect
import fnmatch
import pathlib
import re
import sys

RULES = pathlib.Path(__file__).with_name("words.txt")
# A name's part, a number or a mark; all else separates words.
TOKEN = re.compile(r"PCIe|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?:['’][a-z]+)?|[A-Z]+|\d+|[.,;:()!?]")
# What stands between two lines of one comment or text.
JOINT = re.compile(r"\\n|^[ \t]*(?:///?<?|#|\*)", re.M)


class Text:
    """A file as words in lower case, one blank between them, each with its line."""

    def __init__(self, name, content):
        self.name = name
        content = JOINT.sub(lambda mark: " " * len(mark.group()), content)
        ends = [match.start() for match in re.finditer("\n", content)]
        self.starts, self.lines, words, length = [], [], [], 1
        for token in TOKEN.finditer(content):
            self.starts.append(length)
            self.lines.append(bisect.bisect_left(ends, token.start()) + 1)
            words.append(token.group().lower().replace("’", "'"))
            length += len(words[-1]) + 1
        self.words = f" {' '.join(words)} "

    def find(self, pattern):
        """(start, end, line) of each place where whole words match."""
        for match in re.finditer(rf"(?<= )(?:{pattern})(?= )", self.words):
            yield match.start(), match.end(), self.lines[bisect.bisect_right(self.starts, match.start()) - 1]


class Rule:
    """Words, what is said instead, and exceptions: (text, files, place in the rules)."""

    def __init__(self, pattern, instead):
        self.pattern, self.instead, self.exceptions = pattern, instead, []


def read_rules(path):
    rules = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.lstrip("! ").split(" | ")]
        if line.startswith("!"):
            if len(fields) != 3 or not rules:
                raise SystemExit(f"{path}:{number}: an exception is ! TEXT | FILES | REASON, below its rule")
            rules[-1].exceptions.append((fields[0], fields[1].split(), f"{path}:{number}"))
        elif len(fields) == 2:
            rules.append(Rule(*fields))
        else:
            raise SystemExit(f"{path}:{number}: a rule is WORDS | INSTEAD")
    return rules


def excused(text, start, end, exceptions, used):
    """Whether an exception covers this place; all that do are used."""
    covers = [place for pattern, files, place in exceptions
              if any(fnmatch.fnmatchcase(text.name, each) for each in files)
              and any(first <= start and end <= last for first, last, _ in text.find(pattern))]
    used.update(covers)
    return bool(covers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rules", type=pathlib.Path, default=RULES)
    parser.add_argument("--unused", action="store_true", help="complain of exceptions that no file needs, too")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    rules, used, found = read_rules(arguments.rules), set(), []
    for name in arguments.files:
        text = Text(name, pathlib.Path(name).read_text(encoding="utf-8", errors="replace"))
        for rule in rules:
            for start, end, line in text.find(rule.pattern):
                if not excused(text, start, end, rule.exceptions, used):
                    found.append(f"{name}:{line}: '{text.words[start:end]}': say {rule.instead}")
    if arguments.unused:
        found += [f"{place}: no file needs this exception: {pattern}"
                  for rule in rules for pattern, _, place in rule.exceptions if place not in used]
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
