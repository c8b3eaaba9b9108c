"""Holds README.md and docs/ to the programs and to the records in results/.

What is checked (CONTRIBUTING.md, "Documentation"):
- Commands of a ```console block are run, and what the block shows must be their output. A comment
  `<!-- simulated: SCENARIO -->` in front of the block has tests/support/nvml_double answer for the GPUs;
  `<!-- wheels: FOLDER... -->` before that puts empty files where these folders of wheels would have NCCL.
- Commands of other blocks (```sh) need GPUs, root, a network or other machines: not run, but their options exist.
- Options' tables between `<!-- options: COMMAND -->` and `<!-- end -->` are those of `--help`;
  LINKGAIN_UPDATE_GOLDENS=1 writes them anew.
- Figures of README.md's tables of results are those of the records that the rows name.

Environment: LINKGAIN and LINKGAIN_BENCH are the programs, NVML_DOUBLE the library.
"""

import csv
import functools
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "scripts" / "lib"))
import prose  # pylint: disable=wrong-import-position
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "results" / "README.md"]
LINKGAIN = pathlib.Path(os.environ["LINKGAIN"])
LINKGAIN_BENCH = pathlib.Path(os.environ["LINKGAIN_BENCH"])
UPDATES = os.environ.get("LINKGAIN_UPDATE_GOLDENS") == "1"

BLOCK = re.compile(
    r"(?:^<!-- wheels: (?P<wheels>[^\n]*) -->\n)?(?:^<!-- simulated: (?P<scenario>[\w-]+) -->\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


class Block:
    def __init__(self, page, match):
        source = match.string
        self.place = f"{name_of(page)}:{source.count(chr(10), 0, match.start('language')) + 1}"
        self.language = match["language"]
        self.scenario = match["scenario"]
        self.wheels = (match["wheels"] or "").split()
        self.lines = match["text"].splitlines()


def all_blocks(page):
    return [Block(page, match) for match in BLOCK.finditer(page.read_text())]


def transcripts(page):
    return [block for block in all_blocks(page) if block.language == "console"]


def other_blocks(page):
    return [block for block in all_blocks(page) if block.language != "console"]


def commands(block):
    """(command, lines shown) of every `$ ` line; a line that ends in a backslash goes on in the next."""
    found, going_on = [], False
    for line in block.lines:
        if going_on:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        else:
            raise AssertionError(f"{block.place}: begins with no command: {line}")
        going_on = found[-1][0].endswith("\\") and not found[-1][1]
    return found


def squeezed(line):
    return " ".join(line.split())


def segments(shown):
    """The lines between "..." lines, which stand for any number of lines."""
    parts = [[]]
    for line in map(squeezed, shown):
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def shows(shown, actual):
    """Whether lines are the actual ones; a line that ends in "..." is the beginning of one."""
    return len(shown) == len(actual) and all(
        there.startswith(line[:-3].rstrip()) if line.endswith("...") else there == line
        for line, there in zip(shown, actual))


def difference(shown, output):
    """What of the lines shown is not in the output, in this order; empty where all is."""
    actual = [squeezed(line) for line in output.splitlines()]
    parts, at = segments(shown), 0
    for number, part in enumerate(parts):
        last = number + 1 == len(parts)
        if number == 0:
            starts = [0]
        elif last:
            starts = [len(actual) - len(part)]
        else:
            starts = range(at, len(actual) - len(part) + 1)
        start = next((start for start in starts if start >= at and shows(part, actual[start:start + len(part)])), None)
        if start is None or (last and start + len(part) != len(actual)):
            return "\n".join(part) or "the end of the output"
        at = start + len(part)
    return ""


class Transcripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "linkgain").symlink_to(LINKGAIN)
        (programs / "linkgain-bench").symlink_to(LINKGAIN_BENCH)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("NCCL_", "CUDA_", "LINKGAIN"))}
        self.environment |= {
            "PATH": f"{LINKGAIN.parent}:{LINKGAIN_BENCH.parent}:{os.environ['PATH']}", "HOME": folder.name,
            "LC_ALL": "C.UTF-8", "COLUMNS": "80",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}

    def run_page(self, page):
        """Runs a page's transcripts one after the other in one folder, as a reader would."""
        work = self.folder / name_of(page).replace("/", "-")
        work.mkdir()
        for name in ("results", "scripts", "docs", "tests"):
            (work / name).symlink_to(ROOT / name)
        for block in transcripts(page):
            environment = dict(self.environment)
            for wheel in block.wheels:
                library = work / wheel / "nvidia/nccl/lib/libnccl.so.2"
                library.parent.mkdir(parents=True, exist_ok=True)
                library.touch()
            if block.scenario:
                environment |= {"LINKGAIN_NVML_LIBRARY": os.environ["NVML_DOUBLE"],
                                "LINKGAIN_NVML_SCENARIO": block.scenario}
            self.run_block(block, work, environment)

    def run_block(self, block, work, environment):
        status, parts = 0, commands(block)
        self.assertTrue(parts, f"{block.place}: no command")
        for number, (command, shown) in enumerate(parts):
            outcome = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=work, env=environment,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            status = outcome.returncode
            said = f"{block.place}: {command}\nstatus {status}\n{outcome.stdout}{outcome.stderr}"
            asks_for_status = number + 1 < len(parts) and parts[number + 1][0] == "echo $?"
            self.assertTrue(status == 0 or asks_for_status, said)
            missing = difference(shown, outcome.stdout + outcome.stderr)
            self.assertEqual(missing, "", f"not in the output of {said}")

    def test_what_pages_show_is_what_programs_print(self):
        for page in PAGES:
            with self.subTest(name_of(page)):
                self.run_page(page)

    def test_a_difference_is_found(self):
        output = "one\ntwo  2\nthree\nfour\n"
        for shown in (["one", "two 2", "three", "four"], ["one", "...", "four"], ["...", "three", "..."], ["..."],
                      ["o...", "two 2", "...", "four"]):
            self.assertEqual(difference(shown, output), "", shown)
        for shown in (["two 2", "..."], ["one", "three", "..."], ["...", "three"], ["one"], [], ["...", "3", "..."],
                      ["...", "three", "...", "two 2", "..."], ["t...", "..."]):
            self.assertNotEqual(difference(shown, output), "", shown)

    def test_the_program_that_reads_records_is_the_one_that_is_built(self):
        folder = ROOT / "tests/programs/record_consumer"
        for language, name in (("cpp", "fastest_case.cpp"), ("cmake", "CMakeLists.txt")):
            built = [squeezed(line) for line in (folder / name).read_text().splitlines()]
            [block] = [block for block in all_blocks(ROOT / "docs/record.md") if block.language == language]
            for line in map(squeezed, block.lines):
                self.assertTrue(not line or line.startswith("// ") or line in built, f"{block.place}: {line}")

    def test_every_transcript_is_run(self):
        for page in PAGES:
            for block in all_blocks(page):
                self.assertTrue(block.scenario is None or block.language == "console", block.place)
                if block.language != "console":
                    self.assertFalse(any(line.startswith("$ ") for line in block.lines),
                                     f"{block.place}: a transcript that is not run")


@functools.lru_cache(maxsize=None)
def help_of(*command):
    program = LINKGAIN if command[0] == "linkgain" else LINKGAIN_BENCH
    asked = [str(program), *command[1:], "--help"]
    return subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout


OPTION = re.compile(r"^  (?P<names>-\S+(?: \S+)*?)(?:\s{2,}(?P<text>\S.*))?$")
DEFAULT = re.compile(r"(?P<text>.*?)(?: \(default: (?P<default>.*)\))?")


def options_of(*command):
    """(group, names, text, default) of every option in a command's --help."""
    found, group, inside = [], "", False
    for line in help_of(*command).splitlines():
        option = OPTION.match(line)
        if option:
            found.append([group, option["names"], option["text"] or ""])
        elif found and inside and line.startswith(" " * 24):
            found[-1][2] = f"{found[-1][2]} {line.strip()}".strip()
        elif re.fullmatch(r"\w[\w ]*:", line):
            group = line[:-1]
        inside = bool(option) or (inside and line.startswith(" " * 24))
    return [[group, names, *DEFAULT.fullmatch(text).group("text", "default")] for group, names, text in found]


class Options(unittest.TestCase):
    TABLE = re.compile(r"(?<=<!-- options: )(?P<command>[\w -]+)(?= -->\n)(?P<text>.*?)(?=<!-- end -->)", re.S)

    @staticmethod
    def table(command):
        options = options_of(*command.split())
        groups = {group for group, *_ in options}
        rows, last = ["| Option | | Default |", "| --- | --- | --- |"], None
        for group, *cells in options:
            if group != last and len(groups) > 1:
                rows.append(f"| **{group}** | | |")
            last = group
            names, text, default = ((cell or "").replace("|", "\\|") for cell in cells)
            rows.append(f"| `{names}` | {text} | {default} |".replace("|  |", "| |"))
        return "\n".join(rows)

    def test_help_fits_80_columns(self):
        commands = re.findall(r"^  (\w+)  ", help_of("linkgain").split("Commands:")[1].split("Options:")[0], re.M)
        self.assertIn("run", commands)
        asked = [["linkgain"], *(["linkgain", command] for command in commands), ["linkgain-bench"],
                 ["linkgain-bench", "--format", "nccl-tests"]]
        for command in asked:
            for line in help_of(*command).splitlines():
                self.assertLessEqual(len(line), 80, f"{' '.join(command)} --help: {line}")

    def test_tables_are_those_of_the_command_line(self):
        for page in PAGES:
            old = page.read_text()
            new = self.TABLE.sub(lambda match: f"{match['command']} -->\n{self.table(match['command'])}\n", old)
            if UPDATES and new != old:
                page.write_text(new)
                continue
            self.assertEqual(old, new, f"{name_of(page)}: its table of options is not --help's: "
                                       "LINKGAIN_UPDATE_GOLDENS=1 writes it anew")

    def test_options_of_commands_that_are_not_run_exist(self):
        for page in PAGES:
            for block in other_blocks(page):
                text = "\n".join(block.lines).replace("\\\n", " ")
                for line in text.splitlines():
                    with self.subTest(f"{block.place}: {line}"):
                        self.check_line(line)

    def test_vllm_without_p2p_has_its_own_all_reduce_off(self):
        found = 0
        for page in PAGES:
            for block in other_blocks(page):
                for line in "\n".join(block.lines).replace("\\\n", " ").splitlines():
                    server = re.search(r"linkgain exec .*--server '([^']*vllm[^']*)'", line)
                    if server is None:
                        continue
                    found += 1
                    with self.subTest(f"{block.place}: {line}"):
                        self.assertRegex(server[1], r"\{(args|preset)\}")
                        self.assertTrue("--preset" in line
                                or ("--args 'staged:--disable-custom-all-reduce -cc.pass_config.fuse_allreduce_rms=False'" in line
                                    and "VLLM_ALLREDUCE_USE_SYMM_MEM=0" in line))
        self.assertGreaterEqual(found, 2)

    def test_containers_get_the_variables_of_variants(self):
        found = 0
        for page in PAGES:
            for block in other_blocks(page):
                for line in "\n".join(block.lines).replace("\\\n", " ").splitlines():
                    if not re.match(r"linkgain exec .*docker run", line):
                        continue
                    found += 1
                    with self.subTest(f"{block.place}: {line}"):
                        words = [str(LINKGAIN), "exec", "--dry-run", *shlex.split(line)[2:]]
                        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertNotIn("reach the program", done.stderr)
        self.assertGreaterEqual(found, 3)

    def check_line(self, line):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # no shell: a line of JSON or of output
            return
        program = next((word for word in words if word in ("linkgain", "linkgain-bench")), None)
        if program is None:
            return
        words = words[words.index(program):]
        command = [program]
        if program == "linkgain" and len(words) > 1 and not words[1].startswith("-"):
            command.append(words[1])
        known = help_of(*command)
        for word in words[1:]:
            if word in ("|", "&&", ";", ">", "--"):
                break
            if word.startswith("--") and not word.startswith("--benchmark_"):
                self.assertRegex(known, rf"(?<![\w-]){re.escape(word.split('=')[0])}(?![\w-])")

    def test_an_option_that_does_not_exist_is_found(self):
        self.check_line("mpirun -np 2 linkgain-bench --only all_reduce -b 8 --benchmark_filter=x")
        with self.assertRaises(AssertionError):
            self.check_line("sudo linkgain run --only all_reduce --lunches 8  # no such option")


@functools.lru_cache(maxsize=None)
def cases(record):
    """{(case, variant): row of the CSV} of a record."""
    done = subprocess.run([str(LINKGAIN), "report", str(record), "--format", "csv"], capture_output=True, text=True,
                          timeout=60, check=True)
    return {(row["case"], row["variant"]): row for row in csv.DictReader(io.StringIO(done.stdout))}


UNITS = {"GB/s": ("busbw_gb_per_s", 1.0), "us": ("time_s", 1e-6), "ms": ("time_s", 1e-3), "s": ("steps_time_s", 1.0),
         "x": ("ratio", 1.0)}


def agrees(cell, row):
    """Whether a figure such as "324.3 GB/s" is the row's, rounded as it is."""
    match = re.fullmatch(r"([\d.]+) ?([A-Za-z/]+)", cell)
    if not match or match[2] not in UNITS:
        return False
    column, unit = UNITS[match[2]]
    decimals = len(match[1].partition(".")[2])
    return bool(row[column]) and f"{float(row[column]) / unit:.{decimals}f}" == match[1]


def interval_of(row, decimals):
    """A ratio's interval with as many decimals as the ratio has, as "12.1–12.5x"."""
    if row["launches"] == "1":
        return "one launch"
    return f"{float(row['ratio_low']):.{decimals}f}–{float(row['ratio_high']):.{decimals}f}x"


class Figures(unittest.TestCase):
    HEAD = "| Measurement | GPUs | P2P on | P2P off | Speed-up | 95 % CI | Launches | Record |"

    @classmethod
    def rows(cls):
        text = (ROOT / "README.md").read_text()
        table = text.split(cls.HEAD)[1].split("\n\n")[0]
        return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.strip().splitlines()[1:]]

    @staticmethod
    def find(label, gpus, record):
        """The name of the one case that a label such as "all_reduce 1 GiB (graph, kernel)" stands for."""
        match = re.fullmatch(r"(\w+) (?:(\d+) (\w+)|(\w+))(?: \((.*)\))?", label)
        parts = {match[1], f"np{gpus}", match[4] or match[2] + match[3], *(match[5] or "").split(", ")} - {""}
        found = {case for case, _ in cases(record) if parts <= set(case.split("/"))
                 and ("kernel" in parts) == ("kernel" in case.split("/")) and not case.endswith("/none")}
        return found.pop() if len(found) == 1 else None

    def test_readme_shows_what_the_records_hold(self):
        rows = self.rows()
        self.assertGreater(len(rows), 5)
        for label, gpus, with_p2p, without, ratio, interval, launches, link in rows:
            with self.subTest(label, gpus=gpus):
                record = ROOT / re.search(r"\((results/[^)]+)/report\.md\)", link)[1]
                case = self.find(label, gpus, record)
                self.assertIsNotNone(case, f"{record.name} has none such, or several")
                p2p, host = cases(record)[case, "p2p"], cases(record)[case, "host"]
                self.assertTrue(agrees(with_p2p, p2p), f"{with_p2p} is not the record's: {p2p}")
                self.assertTrue(agrees(without, host), f"{without} is not the record's: {host}")
                self.assertTrue(agrees(ratio, host), f"{ratio} is not the record's: {host['ratio']}")
                self.assertEqual(interval, interval_of(host, decimals=len(ratio.partition(".")[2]) - 1))
                self.assertEqual(launches, host["launches"])

    def test_a_wrong_figure_is_found(self):
        row = {"busbw_gb_per_s": "324.2898", "ratio": "12.6397", "time_s": "0.003311056", "steps_time_s": ""}
        for cell in ("324.3 GB/s", "324 GB/s", "12.6x", "3.31 ms"):
            self.assertTrue(agrees(cell, row), cell)
        for cell in ("324.2 GB/s", "12.7x", "3.31 us", "3.31", "15.9 s", "12.6 times"):
            self.assertFalse(agrees(cell, row), cell)

    def test_figures_in_the_text_are_those_of_the_table(self):
        text = (ROOT / "README.md").read_text()
        shown = {cell for row in self.rows() for cell in row}
        prose = re.sub(r"^\|.*$", "", BLOCK.sub("", text), flags=re.M)
        for figure in re.findall(r"\d[\d.]*(?:x| GB/s| us| ms)(?!\w)", prose):
            self.assertIn(figure, shown)


class Length(unittest.TestCase):
    def test_readme_stays_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 150)


class DoctorChecks(unittest.TestCase):
    def test_every_check_has_a_heading(self):
        catalog = (ROOT / "bench" / "coordinator" / "diagnostics" / "check_catalog.cpp").read_text()
        checks = set(re.findall(r'^    \{"([\w-]+)", \w+,', catalog, re.M))
        headings = set(re.findall(r"^### ([\w-]+)$", (ROOT / "docs" / "doctor.md").read_text(), re.M))
        self.assertGreater(len(checks), 30)
        self.assertEqual(headings, checks)


class Messages(unittest.TestCase):
    PAGE = ROOT / "docs" / "troubleshooting.md"

    def named(self, head, page=PAGE):
        """What the first cells of the table that begins with a cell have in code."""
        rows = page.read_text().split(f"| {head} |")[1].split("\n\n")[0].splitlines()[2:]
        return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}

    def test_messages_are_those_of_the_programs(self):
        said = "\n".join(text for source in (ROOT / "bench").rglob("*.cpp")
                         for _, text in prose.literals(source.read_text()))
        messages = self.named("Message of linkgain")
        self.assertGreater(len(messages), 5)
        for message in messages:
            self.assertIn(message, said)

    def test_every_warning_is_given_and_explained(self):
        table = ROOT / "bench/common/record/warning.cpp"
        rows = dict(re.findall(r'\{(\w+), "([a-z0-9-]+)", Origin::', table.read_text()))
        source = "\n".join(path.read_text() for path in (ROOT / "bench").rglob("*.cpp") if path != table)
        self.assertGreater(len(rows), 80)
        for code in rows.keys() - {"unknown"}:
            self.assertTrue(f"WarningCode::{code}" in source or f'"{rows[code]}"' in source, f"nothing asks for {code}")
        explained = (self.named("Warning") | self.named("Warning", ROOT / "docs" / "exec.md")
                     | self.named("Caution", ROOT / "docs" / "compare.md"))
        self.assertEqual(explained - set(rows.values()), set())


class Links(unittest.TestCase):
    @staticmethod
    def anchors(page):
        text = BLOCK.sub("", page.read_text())
        heads = re.findall(r"^#+ (.*)$", text, re.M)
        return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).lower()).replace(" ", "-")
                for head in heads}

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text())):
                if "://" in target:
                    continue
                with self.subTest(f"{name_of(page)}: {target}"):
                    path, _, anchor = target.partition("#")
                    file = (page.parent / path).resolve() if path else page
                    self.assertTrue(file.exists())
                    if anchor and file.suffix == ".md":
                        self.assertIn(anchor, self.anchors(file))


if __name__ == "__main__":
    unittest.main()
