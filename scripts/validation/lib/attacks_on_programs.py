"""Attacks by programs that exec runs, and by what surrounds linkgain's own processes."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from attack_place import (INCOMPLETE, MACHINE, PATIENCE, SHORT, USAGE, Attack, NotTried, require, require_nothing_left,
                          require_status)

PAIR = ["--quiet", "--variant", "a:FOO=1", "--variant", "b:FOO=2"]
CLAIM = re.compile(r"slower|faster|less time|more time|\d+(\.\d+)?x\b")  # sentences, and figures of the table
HOST_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")

# A write that does not return, as to a server of files that hangs: the thread waits for a child that
# never ends, in a sleep that only signals which end a process interrupt.
STUCK_WRITES = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
int fsync(int file) {
  if (vfork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(open("stuck", O_WRONLY | O_CREAT, 0600));
    for (;;) pause();
  }
  return 0;
}
"""


def times(place):
    """Of each variant in the record, of wall time; none where no run counts."""
    case = next(each for each in place.record()["cases"] if each["case"] == "exec/time")
    return [each["time_s"] for each in case["variants"]]


def work_left(script):
    """The second variant does its work in the background."""
    def do(place):
        status, output, error = place.run(
            ["exec", "--out", "out", "--rounds", "3", *PAIR, "--", "sh", "-c",
             f"if [ $FOO = 1 ]; then sleep 0.2; else {script} fi"])
        require_status(status, INCOMPLETE, error)
        require_nothing_left(place, [])
        require("left 1 process, which was ended: sleep" in output, output[-300:])
        require(times(place)[1] is None, "it has a time")
        require("No comparison" in output, f"the answer says: {output[-300:]}")
        require(not CLAIM.search(output), f"it is compared: {output[-300:]}")
        return "status 6, the process is named, nothing is compared"
    return do


def helper_left(place):
    """What notices a moment late that its program has ended is no work."""
    status, _, error = place.run(["exec", "--out", "out", "--rounds", "2", *PAIR, "--", "sh", "-c",
                                  "(while kill -0 $$; do sleep 0.005; done) 2> /dev/null & sleep 1"])
    require_status(status, 0, error)
    return "status 0"


def handed_over(*words):
    """A program that gives its work to others and ends at once."""
    def do(place):
        for name in ("sbatch", "docker", "systemd-run", "bsub"):
            program = place.folder / name
            program.write_text("#!/bin/sh\n", encoding="utf-8")
            program.chmod(0o755)
        status, _, error = place.run(["exec", "--out", "out", *PAIR, "--", *words],
                                     PATH=f"{place.folder}:{os.environ['PATH']}")
        require_status(status, USAGE, error)
        require("let it wait" in error, error)
        require(not place.out.exists(), "a folder is made")
        return "status 2, says how it waits"
    return do


def slow_search(place):
    """Each line takes ten milliseconds until its search is given up, and twenty thousand come at once."""
    took = {}
    for name, pattern in (("slow", r"loss (?:(?:a+)+)$|loss ([0-9.]+)"), ("cheap", r"loss ([0-9.]+)")):
        status, _, error = place.run(
            ["exec", "--out", name, "--rounds", "3", "--quiet", "--variant", "a:FOO=1", "--metric", pattern, "--",
             "sh", "-c", "yes 'loss aaaaaaaaaaaaaaaaaaaab' | head -n 20000; echo loss 1"])
        require(status in (0, INCOMPLETE), error)
        record = json.loads((place.folder / name / "record.json").read_text(encoding="utf-8"))
        took[name] = record["cases"][0]["variants"][0]["time_s"]
    require(took["slow"] < 1.5 * took["cheap"] + 0.02, f"{took['slow']:.3f} s against {took['cheap']:.3f} s")
    return f"{1e3 * took['slow']:.0f} and {1e3 * took['cheap']:.0f} ms"


def said_secret(*command, **variables):
    """The program says it in its last line, and fails."""
    def do(place):
        status, output, error = place.run(["exec", "--out", "out", "--rounds", "2", "--variant", "p2p", "--", *command],
                                          **variables)
        require_status(status, INCOMPLETE, error)
        require("s3cr3t" not in output + error, "it is printed")
        for file in place.out.glob("*"):
            if file.is_file():
                require("s3cr3t" not in file.read_text(encoding="utf-8", errors="replace"), f"{file.name} holds it")
        require("***" in output, "nothing is masked")
        return "masked wherever it stands"
    return do


def job_says_secret(place):
    """The last words of a job that is lost."""
    launcher = place.folder / "mpirun"
    launcher.write_text('#!/bin/sh\necho "no access with $MY_TOKEN" >&2\nexit 1\n', encoding="utf-8")
    launcher.chmod(0o755)
    _, output, error = place.measure([*SHORT, "--launcher", str(launcher)], MY_TOKEN="s3cr3t-token")
    require("s3cr3t" not in output + error, "it is shown")
    require("no access with ***" in error, f"it says: {error[-200:]}")
    return "masked"


def stuck_write(first, second, *words):
    """The disk under the results does not answer any more; whoever waits sends a signal, and another one."""
    def do(place):
        compiler = shutil.which("cc")
        if not compiler:
            raise NotTried("there is no C compiler")
        library = place.folder / "libstuck.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=STUCK_WRITES, text=True,
                       check=True)
        process = place.start(words, LD_PRELOAD=str(library))
        end = time.monotonic() + PATIENCE
        while not (place.folder / "stuck").exists() and time.monotonic() < end:
            time.sleep(0.02)
        require((place.folder / "stuck").exists(), "it is not stuck")
        process.send_signal(first)
        time.sleep(1.5)
        require(process.poll() is None, "the first signal ended it")
        process.send_signal(second)
        process.communicate(timeout=10.0)
        require_status(-process.returncode, second)
        require_nothing_left(place, [])
        return f"{signal.Signals(second).name} ends it, nothing is left"
    return do


def stuck_writes():
    exec_words = ["exec", "--out", "out", "--rounds", "9", "--", "sh", "-c", "sleep 1000 & sleep 0.2"]
    run_words = ["run", "--backend", "mpi", "--out", "out", *SHORT]
    for first, second, name, words in ((signal.SIGINT, signal.SIGINT, "exec", exec_words),
                                       (signal.SIGHUP, signal.SIGTERM, "exec", exec_words),
                                       (signal.SIGINT, signal.SIGINT, "run", run_words),
                                       (signal.SIGTERM, signal.SIGINT, "run", run_words)):
        yield Attack("T15", f"{first.name} and {second.name} to {name} whose write never returns",
                     "the second ends it, nothing left", stuck_write(first, second, *words))


def small_stack(program, *words):
    """64 KiB, as after ulimit -s 64."""
    def do(place):
        status, _, error = place.shell(f'ulimit -s 64; exec "$(dirname "$0")/{program}" {" ".join(words)}')
        require_status(status, MACHINE, error)
        require("ulimit -s" in error, error)
        require(not [each for each in place.folder.iterdir() if each.name != "tmp"], "something is made")
        return "status 3, names the limit"
    return do


def small_stacks():
    for program, *words in (("linkgain", "run", "--backend", "mpi", "--out", "out"),
                            ("linkgain", "exec", "--out", "out", "--", "true"), ("linkgain", "topo"),
                            ("linkgain", "fleet", "."), ("linkgain-bench", "--backend", "mpi", "-g", "2")):
        yield Attack("T16", f"a stack of 64 KiB for {program} {words[0]}", "status 3, nothing made",
                     small_stack(program, *words))


def left_folder(own):
    """A folder that was left in TMPDIR, by this host or by another one that shares it and not its locks."""
    def do(place):
        host = "".join(filter(str.isalnum, os.uname().nodename))[:15]
        kernel = HOST_ID.read_text(encoding="ascii")[:8] if own else "00000000"
        left = place.folder / "tmp" / f"linkgain-job.{host}-{kernel}.aaaaaa"
        (left / "0").mkdir(parents=True)
        left.chmod(0o700)
        then = time.time() - 3600
        os.utime(left, (then, then))
        status, _, error = place.measure(SHORT)
        require_status(status, 0, error)
        require(left.exists() != own, "it stays" if own else "it is removed")
        return "removed" if own else "it stays"
    return do


def input_dropped(place):
    status, output, _ = place.shell('echo x > f; "$0" exec --out out --rounds 1 --variant p2p -- wc -l < f')
    require_status(status, 0)
    require("standard input" in output, "it is not said")
    return "warned"


def without_interpreter(first_line, named):
    def do(place):
        script = place.folder / "train.py"
        script.write_text(f"#!{first_line}\n", encoding="utf-8", newline="")
        script.chmod(0o755)
        status, _, error = place.run(["exec", "--out", "out", "--", "./train.py"])
        require_status(status, USAGE, error)
        require(named in error, error)
        return "status 2, names it"
    return do


def attacks():
    yield Attack("T3", "a slow pattern over 20,000 lines", "times as with a cheap one", slow_search)
    for name, script in (("by &", "sleep 1000 &"), ("in a session of its own", "setsid sleep 1000 &"),
                         ("as a daemon", "(setsid sleep 1000 > /dev/null 2>&1 &);"),
                         ("without an environment", "env -i setsid sleep 1000 &")):
        yield Attack("T5", f"work put into the background {name}", "status 6, named, not compared", work_left(script))
    yield Attack("T5", "a helper that ends a moment after its program", "status 0", helper_left)
    for words in (("sbatch", "job.sh"), ("docker", "run", "--rm", "-d", "image"), ("systemd-run", "train"),
                  ("bsub", "train"), ("nohup", "env", "A=1", "timeout", "-k", "5", "9", "sbatch", "job.sh")):
        yield Attack("T5", f"work handed over by {' '.join(words)}", "status 2", handed_over(*words))
    yield Attack("T12", "the last line of a failed run has a variable's token", "masked",
                 said_secret("sh", "-c", "echo got $MY_TOKEN; exit 1", MY_TOKEN="s3cr3t-of-variable"))
    yield Attack("T12", "the last line of a failed run has a token of its command", "masked",
                 said_secret("sh", "-c", "echo got $2; exit 1", "sh", "--token", "s3cr3t-of-word"))
    yield Attack("T12", "--token continued by a backslash", "masked",
                 said_secret("sh", "-c", ": --token \\\n  s3cr3t-of-line; echo s3cr3t-of-line; exit 1"))
    yield Attack("T12", "the last words of a lost job have a token", "masked", job_says_secret)
    yield from stuck_writes()
    yield from small_stacks()
    yield Attack("T17", "a folder that a killed run of this host left", "removed", left_folder(True))
    yield Attack("T17", "a folder of another host in a shared TMPDIR", "it stays", left_folder(False))
    yield Attack("F18", "a file as standard input of exec", "warned", input_dropped)
    yield Attack("F18", "a script whose interpreter is missing", "status 2, names it",
                 without_interpreter("/usr/bin/pythonX", "pythonX"))
    yield Attack("F18", "a script with lines of Windows", "status 2, says so", without_interpreter("/bin/sh\r", "Windows"))
