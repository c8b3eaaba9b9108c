"""Finds comments on functions that do not begin with a verb, and comments on anything that begin with "Of".

usage: comments.py FILE...

A comment on a function says what it does, what for or why: "Returns the bytes that a rank sends.", "Leaves
no column out when the output is not a terminal.", "Throws ConfigError if the file is missing." Its first word
is a verb in the third person. Comments on a function are those of three slashes that a declaration with
parameters follows, and those of two at the beginning of a line. Status 1 if a comment is not so.
"""
import argparse
import pathlib
import re
import sys

ON_FUNCTION = re.compile(r"[ \t]*///(?!<)|//(?!/)")
# Words that end as verbs in the third person do.
NO_VERBS = frozenset("""
    across additions afterwards algorithms allocations always arguments arrays as assignments bandwidths bars
    baselines batches besides bits buffers bytes cases cells channels characters chunks codes columns commands
    contexts counters curves degrees deviations devices differences directories documents drivers
    elements entries errors events exponents facts figures files findings flags folders gigabytes gpus
    gradients groups hosts ids implementations indexes indices inodes inputs is items its jobs kernels
    lengths less letters libraries losses machines matrices medians messages metrics minus nanoseconds
    neighbours nodes norms operations options others outputs owners packets pages parameters parts paths
    perhaps pieces positions powers precisions processes processors products programs quantiles quartiles
    queries ranges rates readers readings reductions replies restarts rows seconds sections segments sequences
    series settings sizes slots soaks sources squares status statuses strategies strays structures switches
    terms texts this threads thus tiles tokens trainings types units us values variables variants vectors
    versions warnings warps was ways wheels widths words workers zeros
    """.split())
# Some of them may be nouns, and are so before a few words: "Names of files", but "Names the files".
NOUNS_TOO = frozenset("""
    answers counts digests draws filters lines links logs marks means names numbers orders pairs places plans points
    ranks records reports results rounds samples scores shares steps sums times
    """.split())
AFTER_NOUNS = frozenset("of that whose which with and are in for".split())
VERB = re.compile(r"[A-Z][a-z]*[a-rt-z]s")
NO_FUNCTION = re.compile(r"(?:class|struct|enum|union|using|typedef|namespace|concept|static_assert|return|friend class)\b|[#}]")
NAME = re.compile(r"(?:[\w~]|operator\s*[^\s\w(]+|operator\(\))\s*$")


def begins_with_verb(text):
    """Whether the first word is a verb in the third person, as far as its form and the next word say."""
    first, _, rest = text.partition(" ")
    word = first.rstrip(",.:;")
    if VERB.fullmatch(word) is None or word.lower() in NO_VERBS:
        return False
    return word.lower() not in NOUNS_TOO or not (first.endswith(",") or rest.partition(" ")[0] in AFTER_NOUNS)


def declaration(lines):
    """The text up to the first semicolon or brace outside of parentheses, without template arguments."""
    text, depth = " ".join(re.sub(r"//.*", "", line).strip() for line in lines), 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter in ";{":
            text = text[:at]
            break
    text = re.sub(r"\b(?:__launch_bounds__|alignas|__attribute__|explicit)\s*\((?:[^()]|\([^()]*\))*\)", " ", text)
    text = text.replace("operator<<", "operator_").replace("operator<", "operator_").replace("->", "")
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return re.sub(r"^(?:template|requires \w+|\[\[[^]]*\]\]|\s)+", "", text).strip()


def is_function(text):
    """Whether a declaration is that of a function: a name before the first parenthesis, no value before it."""
    head, bracket, _ = text.partition("(")
    if not bracket or NO_FUNCTION.match(text) or ("=" in head and "operator" not in head):
        return False
    return NAME.search(head) is not None


def comments(source):
    """(line number, text, lines that follow) of every comment that has its lines to itself."""
    lines, at = source.split("\n"), 0
    while at < len(lines):
        begin = at
        while at < len(lines) and lines[at].lstrip().startswith("//"):
            at += 1
        if at > begin:
            yield begin + 1, " ".join(line.lstrip(" \t/") for line in lines[begin:at]), lines[at:at + 12]
        at += 1


def is_on_function(first_line, rest):
    """Whether a comment whose first line is this stands before a function, other than within one."""
    return bool(ON_FUNCTION.match(first_line) and rest and rest[0].strip() and is_function(declaration(rest)))


def complaints(name, source):
    lines = source.split("\n")
    for number, text, rest in comments(source):
        if text.startswith("Of "):
            yield f'{name}:{number}: a comment begins with "Of": {text[:60]}'
        elif is_on_function(lines[number - 1], rest) and not begins_with_verb(text):
            yield f"{name}:{number}: a comment on a function does not begin with a verb: {text[:60]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    found = []
    for name in arguments.files:
        found += complaints(name, pathlib.Path(name).read_text(encoding="utf-8"))
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
