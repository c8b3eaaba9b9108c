"""Attacks by files: input that is none, has no end or goes away, and libraries that are somebody else's."""

import json
import os
import re
import shutil
import subprocess
import threading
import time

from attack_place import OPEN, SHORT, USAGE, NotTried, measured_text, nccl_tests_text, require, require_status


def planted_libraries(place):
    bench = place.linkgain.parent / "linkgain-bench"
    for program in (place.linkgain, bench):
        needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"^\s*(\S+\.so[.\d]*) =>", needed, re.M):
            (place.folder / name).write_text("no library", encoding="utf-8")
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    return "status 0"


def read_elf(program, *options):
    if not shutil.which("readelf"):
        raise NotTried("there is no readelf (binutils)")
    return subprocess.run(["readelf", "-W", *options, str(program)], capture_output=True, text=True, check=True).stdout


def programs(place):
    return [place.linkgain, place.linkgain.with_name("linkgain-bench")]


def library_folders(place):
    """Where the programs look for libraries: no place that depends on the working folder."""
    number = 0
    for program in programs(place):
        for folders in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", read_elf(program, "-d")):
            for folder in folders.split(":"):
                require(folder.startswith(("/", "$ORIGIN")), f"{program.name} looks in '{folder}'")
                number += 1
    return f"each of {number} is named in full"


def hardened(place):
    """Debug builds have but a stack that is not run; the rest is asked of the others."""
    debug = "Debug" in subprocess.run([str(place.linkgain), "--version"], capture_output=True, text=True,
                                      check=True).stdout
    for program in programs(place):
        text = read_elf(program, "-d", "-l", "--dyn-syms")
        stack = re.search(r"GNU_STACK.* (R\S*) +0x", text)
        require(stack and "E" not in stack[1], f"{program.name} has a stack that can be run")
        require("TEXTREL" not in text, f"{program.name} changes its code")
        if debug:
            continue
        require("GNU_RELRO" in text and re.search(r"BIND_NOW|FLAGS_1\).* NOW", text),
                f"{program.name} has a table of functions that can be written")
        require("__stack_chk_fail" in text, f"{program.name} has no canaries")
        require(re.search(r" __\w+_chk\b", text), f"{program.name} has no checked calls of the C library")
    return "stacks cannot be run; the rest is not of Debug builds" if debug else "all of them"


def require_refused(place, words):
    start = time.monotonic()
    status, _, error = place.run(words)
    require_status(status, USAGE, error)
    require(time.monotonic() - start < 10.0, "it waited")


def refused(*words, prepare=None):
    def do(place):
        if prepare:
            prepare(place)
        require_refused(place, words)
        return "status 2"
    return do


def make_endless_folder(place):
    (place.folder / "runs").mkdir()
    os.mkfifo(place.folder / "runs" / "record.json")
    (place.folder / "runs" / "other.json").symlink_to("/dev/zero")


def make_endless_number(place):
    (place.folder / "endless.json").write_text('{"schema": "linkgain.record/1", "wall_s": 1e400}', encoding="utf-8")


def make_pipe(place):
    os.mkfifo(place.folder / "pipe")


def make_loop(place):
    (place.folder / "loop").symlink_to("loop")


def make_loop_and_endless_number(place):
    make_loop(place)
    make_endless_number(place)


def make_pipe_for_journal(place):
    place.out.mkdir()
    os.mkfifo(place.out / "journal.jsonl")


def judged(make, *names):
    """`check` refuses each of these as the record and as the baseline: 1 would mean that a case fails."""
    def do(place):
        (place.folder / "record.json").write_text(measured_text(place), encoding="utf-8")
        status, _, error = place.run(["baseline", "record.json", "-o", "baseline.json"])
        require_status(status, 0, error)
        make(place)
        for name in names:
            for words in (["check", name, "--baseline", "baseline.json"], ["check", "record.json", "--baseline", name]):
                require_refused(place, words)
        return "status 2"
    return do


def without_devices(place):
    """nccl-tests' JSON."""
    output = nccl_tests_text()
    (place.folder / "whole.json").write_text(output, encoding="utf-8")
    for devices in (None, 7, {}, [None], [{"rank": "a"}]):
        document = json.loads(output)
        document["config"]["devices"] = devices
        (place.folder / "changed.json").write_text(json.dumps(document), encoding="utf-8")
        status, _, error = place.run(["compare", "whole.json", "changed.json"])
        require_status(status, USAGE, f"{devices}: {error}")
    return "status 2"


IN_NO_FOLDER = ("report record.json", "compare a b", "baseline a -o b", "check out --baseline b.json", "fleet nodes",
                "list", "run --backend mpi", "exec -- true", "doctor --junit x.xml")


def no_working_folder(place):
    """It is removed before each command starts."""
    for words in IN_NO_FOLDER:
        status, _, error = place.shell(f'mkdir gone && cd gone && rmdir ../gone && exec "$0" {words}')
        require_status(status, USAGE, f"{words}: {error}")
        require(error.startswith("linkgain: "), f"{words} does not say why")
    return "status 2"


def folders_go_away(place):
    """They come and go below a folder for as long as fleet looks."""
    nodes = place.folder / "nodes"
    (nodes / "z").mkdir(parents=True)
    (nodes / "z" / "record.json").write_text(measured_text(place), encoding="utf-8")
    over = threading.Event()

    def come_and_go():
        while not over.is_set():
            (nodes / "a" / "b" / "c").mkdir(parents=True)
            shutil.rmtree(nodes / "a")
    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        for _ in range(20):
            status, output, error = place.run(["fleet", "nodes"])
            require_status(status, OPEN, error)  # one node has no peers
            require("unreadable" not in output and not error, f"it says: {error[-100:]}")
    finally:
        over.set()
        other.join()
    return "status 7, 20 of 20 times"


def no_nvml(place):
    """What is named as NVIDIA's library is a text, a pipe, or another library."""
    (place.folder / "text.so").write_text("no library", encoding="utf-8")
    os.mkfifo(place.folder / "pipe.so")
    needed = subprocess.run(["ldd", str(place.linkgain)], capture_output=True, text=True, check=True).stdout
    other = re.search(r"=> (/\S*libc\.so\S*)", needed)
    for library in (str(place.folder / "text.so"), str(place.folder / "pipe.so"), other[1] if other else "missing.so"):
        status, output, error = place.run(["doctor"], LINKGAIN_NVML_LIBRARY=library)
        require_status(status, 0, error)
        require("not checkable" in output and "There is no GPU" in output, "it was checked")
    return "status 0, not checkable"
