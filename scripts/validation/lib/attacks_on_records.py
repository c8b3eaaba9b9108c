"""Attacks by records and journals: numbers that cannot be, damage, and text that would act on who shows it."""

import csv
import io
import json
import re
import xml.etree.ElementTree

from attack_place import LONG, OPEN, USAGE, measured_record, measured_text, require, require_status

ACTING = ("\x1b", "\x07", "\u202e", "\u2067", "\x9b", "\n::")


def require_refused(place, name, text, said=""):
    (place.folder / name).write_text(text, encoding="utf-8")
    status, _, error = place.run(["report", name])
    require_status(status, USAGE, error)
    require(said in error, f"it says: {' '.join(error.split())[-150:]}")
    return "status 2"


def harmed_record(change):
    """A record of the mpi backend with one thing changed, its digests left out."""
    def do(place):
        record = measured_record(place)
        change(record)
        return require_refused(place, "harmed.json", json.dumps(record))
    return do


def unread_change(change):
    """A derived member says something else: a report says what the samples do."""
    def do(place):
        record = measured_record(place)
        said = []
        for name in ("as-it-was.json", "harmed.json"):
            (place.folder / name).write_text(json.dumps(record), encoding="utf-8")
            status, output, error = place.run(["report", name, "--format", "csv"])
            require_status(status, 0, error)
            said.append(output)
            change(record)
        require(said[0] == said[1], "the report is another one")
        return "not read"
    return do


def set_ratio(record, factor=10):
    record["cases"][0]["ratios"][0]["ratio"] *= factor


def set_ratio_little(record):
    del record["cases"][0]["ratios"][0]["low"], record["cases"][0]["ratios"][0]["high"]
    record["cases"][0]["ratios"][0].update(low=None, high=None)
    set_ratio(record, 1.001)


def set_launch(record):
    record["samples"]["launch"][0] = 99


def set_time(record):
    record["cases"][0]["variants"][0]["time_s"] = -1


def set_time_little(record):
    record["cases"][0]["variants"][0]["time_s"] *= 1.0001


def set_interval(record):
    record["cases"][0]["ratios"][0].update(low=9, high=2)


def empty_samples(record):
    """No sample is left that contradicts a time."""
    leave_samples(record["samples"], [])
    record["cases"][0]["variants"][0]["time_s"] = 1e-9
    record["cases"][0]["variants"][1]["time_s"] = 5
    record["cases"][0]["ratios"][0].update(ratio=42, low=None, high=None)


def without_samples(place):
    record = measured_record(place)
    empty_samples(record)
    (place.folder / "harmed.json").write_text(json.dumps(record), encoding="utf-8")
    status, output, error = place.run(["report", "harmed.json"])
    require_status(status, 0, error)
    require("42" not in output, "the ratio is believed")
    return "no figures"


def swap_variants(record):
    record["cases"][0]["variants"].reverse()


def add_member(record):
    record["cases"][0]["colour"] = "red"


def set_wrong(record):
    record["cases"][0]["variants"][0]["verification"]["wrong"] = -1


def little_changed(member, factor):
    """The first number of this name, a little different, and all else as it was, the digests too."""
    def do(place):
        text = measured_text(place)
        changed = re.sub(rf'("{member}": ?)([\d.e+-]+)', lambda found: found[1] + repr(float(found[2]) * factor), text,
                         count=1)
        require(changed != text, f"there is no {member}")
        return require_refused(place, "harmed.json", changed, "digest")
    return do


def member_twice(place):
    text = json.dumps(measured_record(place))
    return require_refused(place, "twice.json", text[0] + '"wall_s": 1, ' + text[1:], "twice")


def flipped(place):
    text = measured_text(place).encode()
    tries = 100
    for number in range(tries):
        at = (number * 7919 + 13) % (len(text) - 1)
        changed = text[:at] + bytes([text[at] ^ (1 << number % 8)]) + text[at + 1:]
        (place.folder / "flipped.json").write_bytes(changed)
        status, _, error = place.run(["report", "flipped.json"])
        require_status(status, USAGE, f"byte {at}: {error}")
    return f"{tries} of {tries} found"


def journal_lines(place):
    """Of a run that was killed."""
    process = place.start_measuring(LONG)
    place.wait_for_case(2)
    process.kill()
    process.communicate()
    return (place.out / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)


def harmed_journal(place):
    """Journals are asked as records are: what cannot be, changed, left out, cut."""
    whole = journal_lines(place)
    bare = [re.sub(r', ?"digest": ?"[^"]*"', "", line) for line in whole]
    case = next(number for number, line in enumerate(bare) if line.startswith('{"index"'))
    require(bare[case] != whole[case], "a line has no digest")
    for change in (lambda line: re.sub(r'"wrong": ?\d+', '"wrong": -1', line),
                   lambda line: '{"colour": 1, ' + line[1:], lambda line: '{"index": 0, ' + line[1:]):
        lines = bare[:case] + [change(bare[case])] + bare[case + 1:]
        require(lines != bare, "nothing was changed")
        require_refused(place, "journal.jsonl", "".join(lines))
    require_refused(place, "journal.jsonl", "".join(whole[:case] + whole[case + 1:]), "digest")
    (place.folder / "journal.jsonl").write_text("".join(whole)[:-20], encoding="utf-8")
    status, output, error = place.run(["report", "journal.jsonl"])
    require_status(status, 0, error)
    require("unfinished" in output, "it does not read as unfinished")
    return "status 2; cut in its last line it is unfinished"


def require_text(place, commands):
    for words in commands:
        _, output, error = place.run(words)
        for acts in ACTING:
            require(acts not in output + error, f"{' '.join(words)} writes {acts!r}")
    return output


def hostile_text(place):
    record = measured_record(place)
    record["machine"]["host"] = "h\x1b]0;t\x07\u202e<img src=x>[c](https://example.com)\x9b31m"
    (place.folder / "hostile.json").write_text(json.dumps(record), encoding="utf-8")
    output = require_text(place, (["report", "hostile.json"], ["fleet", "hostile.json"],
                                  ["report", "hostile.json", "--format", "md"]))
    require("](" not in output and "\\<img" in output, "Markdown carries it out")
    return "shown as text"


def hostile_variant(place):
    """Its name turns what stands behind it round, where it is shown."""
    name = "a\u202eb\u2067c\x1b[31m"
    record = measured_record(place)
    own = record["settings"]["variants"][1]["name"]
    text = json.dumps(record).replace(json.dumps(own), json.dumps(name))
    (place.folder / "hostile.json").write_text(text, encoding="utf-8")
    (place.folder / "record.json").write_text(measured_text(place), encoding="utf-8")
    formats = ["table", "md", "csv", "html", "screen", "card"]
    require_text(place, [*(["report", "hostile.json", "--format", each] for each in formats),
                         ["fleet", "hostile.json"], ["compare", "record.json", "hostile.json"],
                         ["baseline", "hostile.json", "--json"]])
    return "shown as text"


def command_of_ci(place):
    """::error at the start of a line is a command to GitHub's runners: in a file's name, in a record, in an option."""
    (place.folder / "member.json").write_text('{"schema": "linkgain.record/1", "a\\n::error::b": 1}', encoding="utf-8")
    own = "a\n::error::b"
    for words in (["report", own], ["report", "member.json"], ["fleet", own],
                  ["check", "member.json", "--baseline", own], ["compare", own, own], ["list", own],
                  ["run", "--sizes", own], ["run", own], [own],
                  ["run", "--backend", "mpi", "--variant", own], ["exec", own], ["doctor", "--only", own],
                  ["run", "--profile", "./" + own], ["run", "--hostfile", own]):
        status, output, error = place.run(words)
        require_status(status, USAGE, error)
        require("\n::" not in output + error, f"{words[0]} writes it at the start of a line")
    return "status 2, on one line"


def command_in_record(place):
    """The same in what a record that is accepted says of its command, its machine, its variables and its results."""
    own = "a\n::error file=a,line=1::b\ny"
    record = record_with(place, own)
    record["settings"]["argv"].append(own)
    record["started"] = record["machine"]["processor"] = own
    record["machine"]["software"].update(linkgain=own, mpi=own)
    for rank in record["machine"]["ranks"]:
        rank["host"] = own
    for variant in record["settings"]["variants"]:
        variant["environment"]["A"] = own
    record["warnings"].append({"code": "host-load", "text": own, "advice": own})
    (place.folder / "told.json").write_text(json.dumps(record), encoding="utf-8")
    (place.folder / "record.json").write_text(measured_text(place), encoding="utf-8")
    formats = ["table", "md", "csv", "html", "screen", "card"]
    commands = [*(["report", "told.json", "--format", each] for each in formats),
                *([*words, "--format", each] for each in ("table", "csv", "html")
                  for words in (["fleet", "told.json"], ["compare", "record.json", "told.json"]))]
    for words in commands:
        status, output, error = place.run(words)
        require_status(status, OPEN if words[0] == "fleet" else 0, error)
        lines = (output + "\n" + error).splitlines()
        require(not any(line.lstrip().startswith("::") for line in lines), f"{' '.join(words)} begins a line with it")
    return f"begins no line of {len(commands)} outputs"


def record_with(place, text):
    """A measured record whose second variant was skipped for this reason, on a host of this name."""
    record = measured_record(place)
    record["machine"]["host"] = text
    for case in record["cases"]:
        case["variants"][1].update(skipped=text, time_s=None, algbw_gb_per_s=None, busbw_gb_per_s=None,
                                   skew=None, disturbed_samples=0)
        case["ratios"] = []
    leave_samples(record["samples"], [variant == 0 for variant in record["samples"]["variant"]])
    (place.folder / "told.json").write_text(json.dumps(record), encoding="utf-8")
    return record


def leave_samples(samples, stay):
    def left(column):
        return [value for value, stays in zip(column, stay) if stays]
    for name, column in samples.items():
        by_rank = column and isinstance(column[0], list)
        samples[name] = [left(each) for each in column] if by_rank else left(column)


def formula(place):
    record_with(place, "=HYPERLINK(1)")
    status, output, error = place.run(["report", "told.json", "--format", "csv"])
    require_status(status, 0, error)
    require("HYPERLINK" in output, "the reason is missing")
    fields = [field for row in csv.reader(io.StringIO(output)) for field in row]
    require(not any(field.startswith(("=", "@")) for field in fields), "a spreadsheet would compute it")
    return "a text"


def broken_xml(place):
    record_with(place, "a\ufffe]]>\x01<&")
    (place.folder / "record.json").write_text(measured_text(place), encoding="utf-8")
    status, _, error = place.run(["baseline", "record.json", "-o", "b.json"])
    require_status(status, 0, error)
    status, _, error = place.run(["check", "told.json", "--baseline", "b.json", "--junit", "c.xml"])
    require(status in (1, 7), f"status {status}: {error[-200:]}")
    names = [case.get("name") for case in xml.etree.ElementTree.parse(place.folder / "c.xml").iter("testcase")]
    require(names, "there is no testcase")
    return "XML that parsers read"
