"""Counts the words of sentences: in Markdown those of running text, in C++ those of messages.

usage: prose.py [--average N] [--longest N] [--summary] FILE...

Fails (status 1) where the sentences of a Markdown file, or of all C++ files together, have more than
--average words (18) on average, or one of them has more than --longest (35), and where a line of a
Markdown file's text is wider than 100 columns. In Markdown code blocks, tables, headings and comments
do not count, and inline code is one word. A message is a string literal, adjacent ones joined, with
four words of running text or more.
"""
import argparse
import re
import sys

WIDEST = 100
WORD = re.compile(r"[^\W_]")
PLAIN_WORD = re.compile(r"[(\"'`]*[A-Za-z]{2,}[)\"'`,.:;?!]*")
# A mark that ends a sentence, with what may close after it; not that of an abbreviation.
SENTENCE_END = re.compile(r"(?<!\.[a-z]\.)(?<!\bvs\.)(?<!\betc\.)(?<=[.!?])[)\"'*_]*\s+")
LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def words_in(text):
    return sum(1 for token in text.split() if WORD.search(token))


def sentences_in(text):
    return [part.strip() for part in SENTENCE_END.split(text) if words_in(part)]


def running_text(line):
    """A line of Markdown as it is read: inline code is one word, a link its text."""
    line = re.sub(r"``.+?``|`[^`]*`", "`code`", line)
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return line.replace("**", "").replace(" / ", "/")


def text_lines(text):
    """(line number, line) of Markdown's running text, with empty lines for what stands between."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match.group().count("\n"), text, flags=re.S)
    fence = None
    for at, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark.group(1)
            yield at, ""
        elif fence is not None:
            if mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = None
        else:
            yield at, "" if line.lstrip().startswith(("|", "#")) else line


def paragraphs(text):
    """(line number, text) of every paragraph and list item of Markdown."""
    number, lines = 0, []
    for at, line in [*text_lines(text), (0, "")]:
        item = LIST_ITEM.match(line)
        if (item or not line.strip()) and lines:
            yield number, running_text(" ".join(lines))
            lines = []
        if not line.strip():
            continue
        if not lines:
            number = at
        lines.append(line[item.end():] if item else line.strip())


CPP_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'""", re.S)
INCLUDE = re.compile(r"^\s*#[^\n]*", re.M)


def literals(source):
    """(line number, text) of every string literal of C++, adjacent ones joined."""
    source = INCLUDE.sub(lambda match: " " * len(match.group()), source)
    start, parts, end = 0, [], 0
    for match in CPP_TOKEN.finditer(source):
        text = match.group("raw") if match.group("raw") is not None else match.group("text")
        if text is None:
            continue
        if parts and source[end:match.start()].strip():
            yield source.count("\n", 0, start) + 1, "".join(parts)
            parts = []
        if not parts:
            start = match.start()
        parts.append(re.sub(r"\\[nt]", "\n", text))
        end = match.end()
    if parts:
        yield source.count("\n", 0, start) + 1, "".join(parts)


def messages(source):
    """(line number, text) of every literal that is a message; a line of it is a paragraph."""
    for number, text in literals(source):
        for line in re.split(r"\n", text):
            if sum(1 for token in line.split() if PLAIN_WORD.fullmatch(token)) >= 4:
                yield number, re.sub(r"\{[^{}]*\}", "{}", line).replace("{}", "0")


def judge(name, found, limits):
    """Complaints on (place, sentence) of a file, or of all messages; prints its average where asked to."""
    lengths = [words_in(sentence) for _, sentence in found]
    if not lengths:
        return []
    average = sum(lengths) / len(lengths)
    if limits.summary:
        print(f"{name}: {len(lengths)} sentences, {average:.1f} words on average, {max(lengths)} at most")
    complaints = [f"{place}: a sentence of {length} words, at most {limits.longest}: {sentence}"
                  for (place, sentence), length in zip(found, lengths) if length > limits.longest]
    if average > limits.average:
        complaints.append(f"{name}: {average:.1f} words a sentence on average, at most {limits.average:g}")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--average", type=float, default=18)
    parser.add_argument("--longest", type=int, default=35)
    parser.add_argument("--summary", action="store_true", help="print each file's average")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    complaints, spoken = [], []
    for name in arguments.files:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        parts = paragraphs(text) if name.endswith(".md") else messages(text)
        found = [(f"{name}:{number}", sentence) for number, part in parts for sentence in sentences_in(part)]
        if name.endswith(".md"):
            complaints += judge(name, found, arguments)
            complaints += [f"{name}:{number}: {len(line)} columns, at most {WIDEST}"
                           for number, line in text_lines(text) if len(line) > WIDEST and " " in line.strip()]
        else:
            spoken += found
    complaints += judge("messages", spoken, arguments)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
