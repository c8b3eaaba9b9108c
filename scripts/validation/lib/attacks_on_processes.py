"""Attacks on processes: signals, ranks with faults, launchers that say more than they should."""

import os
import shutil
import signal
import subprocess
import time

from attack_place import (INCOMPLETE, LONG, MACHINE, PATIENCE, SHORT, Attack, require, require_nothing_left,
                          require_status)


def killed(number, whom):
    """A process of a run gets a signal while a case is measured."""
    def do(place):
        process = place.start_measuring(LONG)
        place.wait_for_case()
        segments = place.segments()
        target = process.pid if whom == "coordinator" else place.own_processes(whom)[0]
        os.kill(target, number)
        _, error = process.communicate(timeout=PATIENCE)
        if whom == "coordinator" and number == signal.SIGKILL:
            require_nothing_left(place, segments)
            status, output, error = place.run(["report", "out"])
            require_status(status, 0, error)
            require("unfinished" in output, "the journal does not read as unfinished")
            return "the journal is kept and readable"
        require_status(process.returncode, 128 + number if whom == "coordinator" else INCOMPLETE, error)
        require_nothing_left(place, segments)
        status = place.record()["status"]
        require(status == ("interrupted" if whom == "coordinator" else "job lost"), f"the record says {status}")
        return f"status {process.returncode}, the record is kept"
    return do


def killed_while(fault, group=False):
    """SIGKILL to linkgain, alone or with its process group, while a rank neither answers nor ends."""
    def do(place):
        process = place.start_measuring([*SHORT, "--timeout", "3", *place.variant("faulty:OMPI_MCA_pml=ob1", fault)])
        end = time.monotonic() + PATIENCE
        while len(place.own_processes("linkgain-bench")) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(2.0)
        segments = place.segments()
        require(segments or place.worker, "there are no ranks")
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate(timeout=PATIENCE)
        require_nothing_left(place, segments)
        return "nothing is left"
    return do


def signals():
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU"):
        yield Attack("F17", f"SIG{name} to a run", f"status {128 + getattr(signal, 'SIG' + name)}, record kept",
                     killed(getattr(signal, "SIG" + name), "coordinator"))


def exec_killed(place):
    """SIGKILL to linkgain while a server and its client run."""
    process = place.start(["exec", "--out", "out", "--rounds", "1", "--server", "sh -c 'echo ready; sleep 1001; :'",
                           "--ready", "ready", "--", "sleep", "1000"])
    end = time.monotonic() + PATIENCE
    while len(place.own_processes("sleep")) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    require(len(place.own_processes("sleep")) == 2, "there are no server and client")
    process.kill()
    process.communicate(timeout=PATIENCE)
    require_nothing_left(place, [])
    return "nothing is left"


def exec_ended(number):
    """A signal while a program of the user's runs."""
    def do(place):
        process = place.start(["exec", "--out", "out", "--rounds", "999", "--warm-up", "0", "--", "sleep", "0.3"])
        end = time.monotonic() + PATIENCE
        while len(list(place.out.glob("runs/*.log"))) < 4 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        _, error = process.communicate(timeout=PATIENCE)
        require_status(process.returncode, 128 + number, error)
        require_nothing_left(place, [])
        record = place.record()
        require(record["status"] == "interrupted", f"the record says {record['status']}")
        require(len(record["samples"]["seconds_by_rank"][0]) >= 2, "samples are lost")
        return f"status {process.returncode}, the record is kept"
    return do


def exec_signals():
    for name in ("TERM", "QUIT", "USR1", "XCPU"):
        number = getattr(signal, "SIG" + name)
        yield Attack("F17", f"SIG{name} to exec", f"status {128 + number}, record kept", exec_ended(number))


def is_in_a_case(fault):
    return not fault.endswith(("/launch", "/start", "/connect"))


def named_by(fault):
    return "variant, case and cause" if is_in_a_case(fault) else "variant and cause"


def faulty(fault, said, status=INCOMPLETE):
    """One of two variants has the fault at its second batch or before. `said`: in the warning, beside the variant."""
    timeout = 3.0

    def attack(place):
        variants = [*place.variant("shared-memory"),
                    *place.variant("faulty:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp", fault)]
        start = time.monotonic()
        process = place.start_measuring(["--only", "all_reduce", "--sizes", "1K", "--launches", "1", "--timeout",
                                         f"{timeout:g}", *variants])
        segments = set()
        while process.poll() is None:
            segments |= place.segments()
            time.sleep(0.1)
        _, error = process.communicate()
        took = time.monotonic() - start
        require_status(process.returncode, status, error)
        require_nothing_left(place, segments)
        require(took < timeout + 5.0 + 5.0, f"it took {took:.0f} s")
        record = place.record()
        require(record["samples"]["variant"].count(0) >= 4, "the other variant has no samples")
        warnings = " ".join(each["text"] for each in record["warnings"] if each["code"] == "job-lost")
        require(bool(warnings) == (status != 0), f"warnings: {warnings}")
        if status == 0:
            return f"status 0 after {took:.0f} s"
        # Who starts ranks itself names the one that was ended.
        cause = "was ended by SIGKILL" if place.worker and said == "signal 9" else said
        for text in ("'faulty'", cause, *(["all-reduce of 1 KiB"] if is_in_a_case(fault) else [])):
            require(text in warnings, f"it says: {warnings}")
        return f"status {status} after {took:.0f} s, {named_by(fault)} are named"
    return attack


def faults():
    """Point by point through a job's life."""
    came, stopped = "rank 1 has not come", "a signal has stopped it"
    planted = [
        ("hang@1/launch", came), ("stop@1/launch", stopped),
        ("die@1/start", "signal 9"), ("hang@1/start", came), ("stop@1/start", stopped),
        ("die@0/connect", "signal 9"), ("hang@1/connect", came), ("stop@1/connect", stopped),
        ("die@1/open", "'open'"), ("hang@1/open", "opening"), ("stop@1/open", stopped),
        ("die@1/warm-up", "'open'"), ("hang@1/warm-up", "opening"), ("stop@1/warm-up", stopped),
        ("die@1:2", "'run'"), ("hang@1:2", came), ("stop@1:2", stopped),
        ("die@1:2/operation", "'run'"), ("hang@1:2/operation", "batch 2 of"), ("stop@1:2/operation", stopped),
        ("die@0:2/reply", "'run'"), ("hang@0:2/reply", "rank 0 of the job"), ("garbage@0:2/reply", "rank 0's reply to"),
        ("die@1/verify", "'verify'"), ("hang@1/verify", "verifying"), ("stop@1/verify", stopped),
        ("die@1/close", "'close'"), ("hang@1/close", "closing"), ("stop@1/close", stopped),
    ]
    for fault, said in planted:
        yield Attack("4", f"a rank has the fault {fault}", f"status 6 in time, {named_by(fault)} named",
                     faulty(fault, said))
    for kind in ("die", "hang", "stop"):
        yield Attack("4", f"a rank has the fault {kind}@1/end, after what was asked for", "status 0",
                     faulty(f"{kind}@1/end", "", 0))
    for place in ("launch", "start", "connect", "open", "warm-up", "batch", "operation", "reply", "verify", "close", "end"):
        yield Attack("4", f"a rank is 2 s late at {place}", "status 0", faulty(f"late@0:1/{place}", "", 0))


def ranks_alone():
    """linkgain-bench without linkgain, of which one rank comes no further."""
    for fault, missing in (("hang@1:1", 1), ("stop@1/connect", 1), ("stop@0/connect", 0)):
        yield Attack("F16", f"a rank of linkgain-bench alone has the fault {fault}", "status 6 in time, the rank named",
                     lambda place, fault=fault, missing=missing: parts_alone(place, fault, missing))


def parts_alone(place, fault, missing):
    mpirun = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-np", "2"]
    bench = place.linkgain.with_name("linkgain-bench")
    start = time.monotonic()
    done = subprocess.run(
        [*mpirun, bench, "--backend", "mpi", "--only", "all_reduce", "--sizes", "1K", "--timeout", "2"],
        cwd=place.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
        env=place.environment({"LINKGAIN_TEST_FAULT": fault}))
    took = time.monotonic() - start
    require_status(done.returncode, INCOMPLETE, done.stderr)
    require(f"rank {missing} has not come" in done.stderr, done.stderr[-200:])
    require(took < 12.0, f"it took {took:.0f} s")
    require_nothing_left(place, set())
    return f"status 6 after {took:.0f} s, the rank is named"


def marked(variable):
    """mpirun is told to write something around each line of a rank."""
    def do(place):
        status, _, error = place.measure(SHORT, **{variable: "1"})
        require_status(status, 0, error)
        return "status 0"
    return do


def launched_after(place, command):
    """A short run by an mpirun that does something else first."""
    wrapper = place.folder / "mpirun"
    wrapper.write_text(f"#!/bin/sh\n{command}\nexec {shutil.which('mpirun')} \"$@\"\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return place.measure([*SHORT, "--launcher", str(wrapper)])


def chatty(command):
    """mpirun writes to standard output, too."""
    def do(place):
        status, _, error = launched_after(place, command)
        require_status(status, 0, error)
        return "status 0"
    return do


def with_endless_line(place):
    status, _, error = launched_after(place, "head -c 80000000 /dev/zero")
    require_status(status, MACHINE, error)
    require("a line without end" in error, "the line is not named")
    return "status 3, the line is named"


def dying_job(place):
    fault = "b:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,LINKGAIN_TEST_FAULT=die@1:2"
    status, _, error = place.measure(["--only", "all_reduce", "--sizes", "64,1K,64K", "--launches", "1", "--variant",
                                      "shared-memory", "--variant", fault])
    require_status(status, INCOMPLETE, error)
    record = place.record()
    for case in record["cases"]:
        require(case["variants"][0]["time_s"] and case["variants"][1]["time_s"], "a case has no time")
    require("test-variable" in [warning["code"] for warning in record["warnings"]], "the planted fault is not named")
    return "status 6; every case was begun, the fault is named"
