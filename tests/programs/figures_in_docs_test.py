"""Holds reports in results/, and figures in tables of docs/ and results/README.md, to the records in results/.

Environment: LINKGAIN is the program.
"""

import collections
import csv
import functools
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.lru_cache(maxsize=None)
def rows_of(record):
    """{(case, variant): row of the CSV} of a record."""
    done = subprocess.run([os.environ["LINKGAIN"], "report", str(ROOT / "results" / record / "record.json"),
                           "--format", "csv"], capture_output=True, text=True, timeout=60, check=True)
    return {(row["case"], row["variant"]): row for row in csv.DictReader(io.StringIO(done.stdout))}


@functools.lru_cache(maxsize=None)
def document_of(record):
    return json.loads((ROOT / "results" / record / "record.json").read_text())


def tables(page):
    """The tables of a page: for each its rows, the first of them the head, as lists of cells."""
    found = [[]]
    for line in (ROOT / page).read_text().splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[table[0], *table[2:]] for table in found if len(table) > 2]


def table(page, *head):
    """Those rows of the tables whose head begins so."""
    found = [rows[1:] for rows in tables(page) if rows[0][:len(head)] == list(head)]
    assert found, f"{page} has no table {head}"
    return found


COLUMNS = {"s": ("steps_time_s", 1.0), "ms": ("time_s", 1e-3), "us": ("time_s", 1e-6),
           "GB/s": ("busbw_gb_per_s", 1.0), "x": ("ratio", 1.0), "%": ("less_time", 0.01)}


def agrees(cell, row, column=None):
    """Whether a cell such as "217 GB/s" is the row's value, rounded as it is."""
    match = re.fullmatch(r"([\d.]+) ?(\S+)", cell)
    if not match or match[2] not in COLUMNS:
        return False
    usual, unit = COLUMNS[match[2]]
    decimals = len(match[1].partition(".")[2])
    value = row[column or usual]
    return bool(value) and abs(float(value) / unit - float(match[1])) <= 0.5001 * 10**-decimals


class Figures(unittest.TestCase):
    def hold(self, cell, record, case, variant, column=None):
        row = rows_of(record)[case, variant]
        self.assertTrue(agrees(cell, row, column), f"{cell} of {case} with {variant} in {record}: {row}")

    def test_of_trainings(self):
        for gpus, precision, own, other, less, ratio in table("docs/training.md", "GPUs", "Precision")[0]:
            record, case = f"{gpus}xH200-training", f"gpt2_step/{precision}/gpt2/np{gpus}"
            self.hold(own, record, case, "p2p")
            for cell in (other, less, ratio):
                self.hold(cell, record, case, "host")

    def test_of_exposed_communication(self):
        for label, *cells in table("docs/training.md", "GPUs, `ddp`")[0]:
            gpus, what = label.split(", ")
            for precision, cell in zip(("fp32", "tf32", "bf16"), cells):
                self.hold(cell, f"{gpus}xH200-training", f"gpt2_step/{precision}/gpt2/np{gpus}",
                          "p2p" if "with NVLink" in what else "host", "exposed_s" if "exposed" in what else None)

    def test_of_trainings_beside_ddp(self):
        for what, precision, own, other, ratio, longer in table("docs/training.md", "Training", "Precision", "With P2P")[0]:
            training, gpus = what.split(", 2 × ")
            record, case, steps = {
                "DDP": (f"2x{gpus}-ddp-{precision}", "exec/train_runtime", 100),
                "`gpt2_step`": ("2xH100-default" if gpus == "H100" else f"2x{gpus}-training",
                                f"gpt2_step/{precision}/gpt2/np2", 1)}[training]
            self.hold(own, record, case, "p2p", "time_s")
            self.hold(other, record, case, "host", "time_s")
            self.hold(ratio, record, case, "host")
            own_s, other_s = (float(rows_of(record)[case, variant]["time_s"]) for variant in ("p2p", "host"))
            self.assertTrue(agrees(longer, {"time_s": (other_s - own_s) / steps}), f"{longer} of {precision}, {what}")

    def test_of_inference(self):
        for tokens, size, *cells in table("docs/inference.md", "Tokens", "Size")[0]:
            case = f"all_reduce/bfloat16/sum/{size.replace(' ', '')}/np2/graph/hidden=4096"
            count, unit = size.split()
            self.assertEqual(int(tokens) * 4096 * 2, int(count) << {"KiB": 10, "MiB": 20}[unit])
            for way, cell in zip((("", "p2p"), ("", "host"), ("/kernel", "p2p")), cells):
                self.hold(cell, "2xH200-inference", case + way[0], way[1])

    def test_of_models(self):
        measured = collections.defaultdict(list)
        for model, _, own, other, *_ in table("results/predictions.md", "Model", "Work")[0]:
            measured[model].append(f"{float(other) / float(own):.2f}x")
        for model, *cells in table("docs/inference.md", "Model")[0]:
            self.assertEqual(cells, measured[model.strip("`")], model)

    def test_of_trainings(self):
        """Both columns are of the records named: measured in one, predicted from the curves of another."""
        for what, curves, step, measured, predicted in table("results/predictions.md", "Training", "Record of the curves")[0]:
            curves = re.search(r"\[([\w-]+)\]", curves)[1] if "[" in curves else last
            last = curves
            own = re.search(r"of \[([\w-]+)\]", what)
            precision = re.search(r"bf16|fp32|tf32", what)[0]
            case = "exec/train_runtime" if "DDP" in what else f"gpt2_step/{precision}/gpt2/np2"
            row = rows_of(own[1] if own else curves)[case, "host"]
            self.assertEqual(measured, f"{100 * float(row['less_time']):.1f} %", what)
            if "DDP" not in what:
                self.hold(step, own[1] if own else curves, case, "p2p")
            done = subprocess.run([os.environ["LINKGAIN"], "predict", ROOT / "results" / curves, "--params", "124439808", "--step-time",
                                   step.replace(" ", ""), "--strategy", "ddp", "--dtype", "fp32", "--json"],
                                  capture_output=True, text=True, timeout=60, check=True)
            answer = json.loads(done.stdout)
            self.assertEqual(predicted, f"{100 * answer['training']['less_time']:.1f} %", what)

    def hold_kernels(self, size, gpus, cells):
        for (kernel, variant), cell in cells.items():
            case = f"all_reduce/float32/sum/{size.replace(' ', '')}/np{gpus}/graph{kernel}"
            self.hold(cell, f"{gpus}xH200-kernels", case, variant)

    def test_of_kernels(self):
        found = table("docs/kernels.md", "Size", "NCCL", "Kernel")
        self.assertEqual(len(found), 2)
        for gpus, rows in zip((2, 4), found):
            for size, nccl, kernel, nccl_host, kernel_host in rows:
                self.hold_kernels(size, gpus, {("", "p2p"): nccl, ("/kernel", "p2p"): kernel,
                                               ("", "host"): nccl_host, ("/kernel", "host"): kernel_host})

    def test_of_kernels_in_the_results(self):
        for size, two, nccl, _, _, four, nccl_four in table("results/README.md", "Size, with P2P")[0]:
            self.hold_kernels(size, 2, {("/kernel", "p2p"): two, ("", "p2p"): nccl})
            self.hold_kernels(size, 4, {("/kernel", "p2p"): four, ("", "p2p"): nccl_four})
        for size, two, nccl, four, nccl_four in table("results/README.md", "Size, through host memory")[0]:
            self.hold_kernels(size, 2, {("/kernel", "host"): two, ("", "host"): nccl})
            self.hold_kernels(size, 4, {("/kernel", "host"): four, ("", "host"): nccl_four})

    def test_of_buffers(self):
        for size, *cells in table("results/README.md", "NCCL by graph with P2P, memory")[0]:
            for kind, cell in zip(("", "/registered", "/symmetric"), cells):
                self.hold(cell, "2xH200-buffers", f"all_reduce/float32/sum/{size.replace(' ', '')}/np2/graph{kind}", "p2p")

    def test_of_latencies(self):
        for label, _, p2p, host in table("docs/kernels.md", "Operation", "Its time is")[0]:
            if not p2p:
                continue
            case = re.sub(r"`(\w+)`, (\d+) (\w+)", r"\1/\2\3/np2/pair=0-1", label)
            self.hold(p2p, "2xH200-latency", case, "p2p")
            self.hold(host, "2xH200-latency", case, "host")

    def test_of_steps_in_the_results(self):
        for what, two, four, *_ in table("results/README.md", "What", "2 × H200")[0]:
            match = re.fullmatch(r"(step with P2P|exposed communication), (\w+)", what)
            for gpus, cell in ((2, two), (4, four)) if match else ():
                self.hold(cell, f"{gpus}xH200-training", f"gpt2_step/{match[2]}/gpt2/np{gpus}", "p2p",
                          "exposed_s" if match[1].startswith("exposed") else None)

    def test_of_measurements_in_files(self):
        """The row that links a file says what the file says."""
        text = (ROOT / "results/README.md").read_text()
        for line in text.splitlines():
            files = re.findall(r"\(([\w/-]*/overlap-\w+\.txt)\)", line) if line.startswith("| exposed") else []
            measured = [re.search(r"exposed, measured +([\d.]+)", (ROOT / "results" / file).read_text())[1] for file in files]
            if files:
                self.assertIn(f"| {', '.join(f'{float(each):.2f}' for each in measured)} ms |", line)
        for kind, page, said in (("zeros", "README.md", r"(\d+) were within 1 % of nccl-tests on zeros"),
                                 ("data", "README.md", r"on zeros, (\d+) on data"),
                                 ("zeros", "results/README.md", r"on zeros, medians of three launches \| (\d+) of 108"),
                                 ("data", "results/README.md", r"one launch on data, within 1 % \| (\d+) of 108")):
            file = f"results/2xH200-beside-nccl-tests/comparison-operations{'-data' if kind == 'data' else ''}.md"
            kept = re.search(r"Limits kept: (\d+) of 108", (ROOT / file).read_text())[1]
            self.assertEqual(re.search(said, (ROOT / page).read_text())[1], kept, f"{page}, on {kind}")

    def test_of_times_of_profiles(self):
        times = dict(row[::2] for row in table("docs/run.md", "Profile", "Measures", "On two GPUs")[0])
        node = max(document_of(f"2xH200-node-{number}")["wall_s"] for number in (1, 2))
        quick, default = (document_of(f"2xH200-{profile}")["wall_s"] for profile in ("quick", "default"))
        for profile, seconds in (("quick", quick), ("default", default), ("node", node)):
            self.assertEqual(times[f"`{profile}`"], f"{seconds:.0f} s", profile)

    def test_of_where_the_time_of_runs_goes(self):
        said = (ROOT / "results/README.md").read_text()
        for record, begin, end, parts in (
                ("2xH200-default", "The default run in 96 s", "The 104.7 s", ("sampling", "opening", "starting", "verifying", "ending")),
                ("2xH200-quick", "`quick` in 14 s", "One second", ("starting", "gpus", "sampling", "opening", "ending", "verifying"))):
            text = re.search(rf"\*\*{begin}\.\*\*(.*?){end}", said, re.S)[1]
            document = document_of(record)
            spent = [document["wall_s"], *(document["time_spent"][f"{part}_s"] for part in parts)]
            self.assertEqual(re.findall(r"([\d.]+) s\b", text), [f"{seconds:.1f}" for seconds in spent], record)

    def test_of_judged_shares_of_traffic(self):
        said = {row[0]: row[1] for row in table("results/README.md", "What", "Figure", "Goal", "Met")[1]}
        for gpus, label in (("2", "judged shares of expected bytes over NVLink, two GPUs"), ("4", "judged shares over NVLink, four GPUs")):
            rows = [row for path in (ROOT / "results").glob(f"{gpus}x*/record.json") for row in rows_of(path.parent.name).values()
                    if row["judged"] == "true"]
            shares = [float(row["nvlink_share"]) * 100 for row in rows if row["path"] == "nvlink"]
            self.assertEqual(said[label], f"{min(shares):.2f} to {max(shares):.2f} %")
            self.assertEqual({float(row["nvlink_share"]) for row in rows if row["path"] != "nvlink"} - {0.0}, set())
        self.assertIn(said["judged shares of expected bytes over NVLink, two GPUs"].replace("to", "and"),
                      " ".join((ROOT / "docs/method.md").read_text().split()))

    def test_of_nccl_versions(self):
        page, record = "docs/nccl-versions.md", "2xH200-nccl-send_recv"
        for size, *times, ratio in table(page, "Size", "2.28.3")[0]:
            case = f"send_recv/float32/{size.replace(' ', '')}/np2/graph"
            for version, cell in zip(("v28", "v29", "v30", "v31", "v32"), times):
                self.hold(cell, record, case, version)
            self.hold(ratio, record, case, "v32")
        for label, *ratios in table(page, "Size", "2.32.3")[0]:
            size, _, stream = label.partition(" by ")
            case = f"send_recv/float32/{size.replace(' ', '')}/np2{'' if stream else '/graph'}"
            for variant, cell in zip(("v32", "v32-chunk", "v32-ll", "v28-ll"), ratios):
                self.hold(cell, record, case, variant)
        compared = [row for (_, variant), row in rows_of("2xH200-nccl-versions").items() if variant == "new"]
        for operation, *cells in table(page, "Operation", "Graph, below 1 MiB")[0]:
            for (mode, least, end), cell in zip((("graph", 0, 1 << 20), ("graph", 1 << 20, 1 << 40),
                                                 ("stream", 0, 4 << 20), ("stream", 4 << 20, 1 << 40)), cells):
                ratios = [float(row["ratio"]) for row in compared if row["operation"] == operation.strip("`")
                          and row["launch"] == mode and least <= int(row["size_bytes"]) < end]
                self.assertEqual(cell, f"{min(ratios):.2f} to {max(ratios):.2f}x", operation)
        text = (ROOT / page).read_text()
        said, shown = (set(re.findall(r"\d\.\d+x", "\n".join(line for line in text.splitlines() if line.startswith("|") == is_table)))
                       for is_table in (False, True))
        self.assertGreater(len(said), 3)
        self.assertEqual(said - shown, set())

    def test_of_how_nccl_divides_a_message(self):
        """By the rules of addP2pToPlan that the page tells, with 32 channels a peer and two ranks."""
        threshold, ll_step, simple_step = 16 << 10, 64 << 10, 512 << 10
        for size, old, new in table("docs/nccl-versions.md", "Size", "Up to 2.28.9")[0]:
            count, unit = size.split()
            message = int(count) << {"KiB": 10, "MiB": 20}[unit]
            channels = {step: min(16, -(-message // (step // 8))) for step in (ll_step, simple_step)}
            is_ll = message <= 32 * threshold
            for cell, ll, used in ((old, is_ll, channels[ll_step if is_ll else simple_step]),
                                   (new, message <= channels[simple_step] * threshold, channels[simple_step])):
                self.assertEqual(cell, f"{'LL' if ll else 'Simple'}, {used} × {(message // used) >> 10} KiB", size)

    def test_of_headroom_step_by_step(self):
        columns = ("Size", "NCCL", "Setting", "Symmetric", "Kernel", "Floor", "Whole", "NCCL blocks", "Kernel blocks")
        said = table("docs/kernels.md", *columns)[0]
        head, *rows = next(rows for rows in tables("results/2xH200-headroom/report.md") if set(columns) <= set(rows[0]))
        self.assertEqual(said, [[row[head.index(column)] for column in columns] for row in rows])

    def test_kernels_are_ahead_where_it_is_said(self):
        said = re.search(r"The kernel is ahead at all (\d+) sizes.*at all (\d+)\.\n", (ROOT / "docs/kernels.md").read_text(), re.S)
        for count, record in zip(said.groups(), ("2xH200-kernels", "2xH200-headroom-bf16")):
            kernels = {key: row for key, row in rows_of(record).items()
                       if row["kernel"] == "true" and key[0].startswith("all_reduce/")}
            self.assertEqual(str(len({case for case, _ in kernels})), count)
            for key, row in kernels.items():
                self.assertGreater(float(row["library_ratio_low"]), 1.0, key)

    def test_what_is_said_of_a_record_is_in_it(self):
        rows = table("results/README.md", "Record", "Machine", "Command", "Commit", "Launches", "Figure", "Goal")[0]
        named = {name for row in rows for name in re.findall(r"\((\w+)/report\.md\)", row[0].replace("-", "_"))}
        kept = {path.parent.name.replace("-", "_") for path in (ROOT / "results").glob("*/record.json")}
        self.assertEqual(named, kept)
        for link, machine, command, commit, launches, figure, _ in rows:
            case, variant, shown = re.fullmatch(r"`(\S+)`, (\w+): (.+)", figure).groups()
            self.hold(shown, re.search(r"\(([\w-]+)/report\.md\)", link)[1], case, variant)
            for record in re.findall(r"\(([\w-]+)/report\.md\)", link):
                document = document_of(record)
                self.assertIn(f"+{commit.split(',')[0]}", document["machine"]["software"]["linkgain"])
                self.assertEqual(len(document["machine"]["ranks"]), int(record[0]))
                if machine[0].isdigit():
                    self.assertEqual(machine[0], record[0])
                argv = document["settings"]["argv"][1:]
                asked = [word for i, word in enumerate(argv) if word not in ("--out", "--quiet") and argv[i - 1] != "--out"]
                shown = command.replace("`, the second with `", " " if asked[-1] == "sequential" else "` ")
                shown = re.match(r"`linkgain ([^`]*)`", shown)[1].split()
                if "…" not in command:
                    self.assertEqual(sorted(shown), sorted(asked))
                samples = document["samples"]
                sampled = collections.Counter(case for case, _ in set(zip(samples["case"], samples["launch"])))
                self.assertEqual({str(count) for count in sampled.values()}, set(re.findall(r"\d+", launches)), record)

    def test_reports_are_what_the_program_prints(self):
        for record in (ROOT / "results").glob("*/record.json"):
            done = subprocess.run([os.environ["LINKGAIN"], "report", str(record), "--format", "md"], capture_output=True,
                                  text=True, timeout=60, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
            self.assertEqual(record.with_name("report.md").read_text(encoding="utf-8"), done.stdout, record)

    def test_commands_of_reports_are_accepted(self):
        for report in (path.with_name("report.md") for path in (ROOT / "results").glob("*/record.json")):
            words = shlex.split(re.search(r"## Repeat it\n\n```sh\n(.*)\n```", report.read_text(encoding="utf-8"))[1])
            options = words[words.index("linkgain") + 1:]  # variables may stand before it
            # Other builds of the worker and of NCCL are not here; this one is.
            options = [re.sub("worker=[^,]+", f"worker={pathlib.Path(os.environ['LINKGAIN']).parent}", word) for word in options]
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "libnccl.so.2").touch()
                options = [re.sub("nccl=[^,]+", f"nccl={folder}", word) for word in options]
                own, program = (options[:options.index("--")], options[options.index("--"):]) if "--" in options else (options, [])
                own += ["--out", folder]
                for word in program[1:2]:  # exec wants it to be there
                    (pathlib.Path(folder) / word).symlink_to("/bin/true")
                done = subprocess.run([os.environ["LINKGAIN"], *own, "--dry-run", *program], capture_output=True, text=True,
                                      timeout=60, check=False, cwd=folder,
                                      env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 0, f"{report}: {done.stderr}")

    def test_a_wrong_figure_is_found(self):
        row = {"busbw_gb_per_s": "336.49", "time_s": "0.0000014669", "less_time": "0.0764", "ratio": "", "steps_time_s": ""}
        for cell in ("336 GB/s", "336.5 GB/s", "1.47 us", "7.6 %"):
            self.assertTrue(agrees(cell, row), cell)
        for cell in ("337 GB/s", "1.46 us", "1.47 ms", "7.7 %", "1.08x", "336", ""):
            self.assertFalse(agrees(cell, row), cell)


if __name__ == "__main__":
    unittest.main()
