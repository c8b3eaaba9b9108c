"""The attacks of scripts/validation/attack: each does something to linkgain and says what came of it."""

import pathlib
import signal
import subprocess
import tempfile

import attacks_on_claims as claims
import attacks_on_files as files
import attacks_on_folders as folders
import attacks_on_nodes as nodes
import attacks_on_judgements as judgements
import attacks_on_options as options
import attacks_on_output as output
import attacks_on_processes as processes
import attacks_on_programs as programs
import attacks_on_records as records
from attack_place import LONG, SHORT, USAGE, Attack, NotTried, Place, Row, Surprise

ATTACKS = [
    Attack("F2", "files named as our libraries in the working folder", "status 0", files.planted_libraries),
    Attack("F2", "folders in which the programs look for libraries", "none is empty or relative",
           files.library_folders),
    Attack("F3", "a run is killed in a folder with an older record", "the older one is no record any more",
           output.stale_record),
    Attack("F4", "progress goes into a pipe that nobody reads", "status 0, record kept",
           output.unread("stderr", SHORT, None)),
    Attack("F4", "SIGINT while progress is not read", "status 130, record kept",
           output.unread("stderr", LONG, signal.SIGINT)),
    Attack("F4", "SIGINT while results are not read", "the program ends, record kept",
           output.unread("stdout", [*SHORT, "--json"], signal.SIGINT)),
    Attack("F5", "standard error is /dev/full", "status 0, record kept", output.closed_error("/dev/full")),
    Attack("F5", "standard streams are closed", "status 2, record kept", output.closed_streams),
    Attack("F5", "who reads progress and results ends after a line", "record kept", output.reader_ends),
    Attack("F5", "report of nothing without standard error", "status 2", output.refusal_without_stream),
    Attack("F6", "two runs in one folder", "the second: status 2, names the first", output.two_runs),
    Attack("F6", "runs of two users in one folder", "the second: status 2, names the first", output.two_users),
    Attack("F7", "no file may grow any more, from a case on", "tables, status 6", output.full_disk),
    Attack("F7", "the folder is removed", "tables, status 6", output.removed_folder),
    Attack("F7", "the folder is on a full file system", "tables, status 6", output.full_file_system),
    Attack("F8", "report of a link to itself", "status 2", files.refused("report", "loop", prepare=files.make_loop)),
    Attack("F8", "report of a number out of range", "status 2",
           files.refused("report", "endless.json", prepare=files.make_endless_number)),
    Attack("F8", "check with a link to itself or a number out of range", "status 2, never 1",
           files.judged(files.make_loop_and_endless_number, "loop", "endless.json")),
    Attack("F8", "nccl-tests' JSON whose devices are none", "status 2", files.without_devices),
    Attack("F8", "the working folder is removed before the start", "status 2", files.no_working_folder),
    Attack("F8", "folders go away while fleet looks", "status 7, none called unreadable", files.folders_go_away),
    Attack("F8", "doctor's file goes into a missing folder", "status 2, never 1",
           files.refused("doctor", "--junit", "missing/doctor.xml")),
    Attack("F9", "report of /dev/zero", "status 2", files.refused("report", "/dev/zero")),
    Attack("F9", "report of a pipe that nobody writes", "status 2",
           files.refused("report", "pipe", prepare=files.make_pipe)),
    Attack("F9", "fleet of a folder with a pipe and a link to /dev/zero", "status 2",
           files.refused("fleet", "runs", prepare=files.make_endless_folder)),
    Attack("F9", "hostfile that is a pipe", "status 2",
           files.refused("run", "--hostfile", "pipe", prepare=files.make_pipe)),
    Attack("F9", "hostfile /dev/zero", "status 2",
           files.refused("run", "--backend", "mpi", "--hostfile", "/dev/zero")),
    Attack("F9", "record and baseline that are pipes or /dev/zero", "status 2",
           files.judged(files.make_pipe, "pipe", "/dev/zero")),
    Attack("F9", "token file that is a pipe", "status 2",
           files.refused("run", "--backend", "mpi", "--only", "gpt2_step", "--tokens", "pipe",
                         prepare=files.make_pipe)),
    Attack("F9", "a folder whose journal is a pipe", "status 2",
           files.refused("report", "out", prepare=files.make_pipe_for_journal)),
    Attack("F9", "the lock of a run's folder is a pipe", "status 2", output.pipe_for_lock),
    Attack("F9", "a profile that is a pipe", "status 2",
           files.refused("run", "--profile", "./pipe", prepare=files.make_pipe)),
    Attack("F9", "a pipe or a link to a device where a file is to be written", "status 2, both stay",
           output.device_in_place_of_a_file),
    Attack("F10", "a rank dies in every case", "each case begun, status 6", processes.dying_job),
    Attack("F10", "SIGKILL to a rank", "status 6, record kept, nothing left",
           processes.killed(signal.SIGKILL, "linkgain-bench")),
    Attack("F11", "a ratio ten times what samples say", "not read", records.unread_change(records.set_ratio)),
    Attack("F11", "a ratio a thousandth larger, digest left in", "status 2", records.little_changed("ratio", 1.001)),
    Attack("F11", "a time 1/10000 larger, digest left in", "status 2", records.little_changed("time_s", 1.0001)),
    Attack("F11", "a ratio a thousandth larger, digest left out", "not read",
           records.unread_change(records.set_ratio_little)),
    Attack("F11", "a time 1/10000 larger, digest left out", "not read", records.unread_change(records.set_time_little)),
    Attack("F11", "numbers without a sample, digest left out", "no figures", records.without_samples),
    Attack("F11", "a time of -1 s", "not read", records.unread_change(records.set_time)),
    Attack("F11", "a sample of launch 99", "status 2", records.harmed_record(records.set_launch)),
    Attack("F11", "an interval whose low is above its high", "not read", records.unread_change(records.set_interval)),
    Attack("F11", "-1 wrong elements", "status 2", records.harmed_record(records.set_wrong)),
    Attack("F11", "variants of a case in another order", "status 2", records.harmed_record(records.swap_variants)),
    Attack("F11", "an unknown member", "status 2", records.harmed_record(records.add_member)),
    Attack("F11", "a member twice", "status 2", records.member_twice),
    Attack("F11", "100 flipped bits", "all found", records.flipped),
    Attack("F11", "a journal with numbers that cannot be, members unknown or twice, lines left out or cut",
           "status 2; cut: unfinished", records.harmed_journal),
    Attack("F12", "a host's name with escapes, HTML and a link", "shown as text", records.hostile_text),
    Attack("F12", "a variant's name with escapes and marks of direction", "shown as text", records.hostile_variant),
    Attack("F12", "::error at the start of a line, in names and records that are refused", "status 2, on one line",
           records.command_of_ci),
    Attack("F12", "::error behind a line break, in texts of a record that is accepted", "no line begins with it",
           records.command_in_record),
    Attack("F12", "a reason that is a formula, in CSV", "a text", records.formula),
    Attack("F12", "a reason that is no XML, in JUnit", "XML that parsers read", records.broken_xml),
    Attack("F13", "mpirun is told to tag output", "status 0", processes.marked("OMPI_MCA_orte_tag_output")),
    Attack("F13", "mpirun is told to put times before output", "status 0",
           processes.marked("OMPI_MCA_orte_timestamp_output")),
    Attack("F13", "mpirun is told to write XML", "status 0", processes.marked("OMPI_MCA_orte_xml_output")),
    Attack("F13", "mpirun prints a banner", "status 0", processes.chatty("echo Welcome to the cluster")),
    Attack("F13", "mpirun prints a banner without a newline", "status 0", processes.chatty("printf 'Welcome: '")),
    Attack("F13", "mpirun prints a line every 30 ms", "status 0",
           processes.chatty("while sleep 0.03 && echo warn; do :; done &")),
    Attack("F13", "mpirun prints a line without end", "status 3, names the line", processes.with_endless_line),
    Attack("F14", "SIGKILL to mpirun", "status 6, /dev/shm clean", processes.killed(signal.SIGKILL, "mpirun")),
    Attack("F14", "SIGKILL to linkgain", "journal kept, /dev/shm clean",
           processes.killed(signal.SIGKILL, "coordinator")),
    *(Attack("F14", f"SIGKILL to linkgain, a rank has the fault {fault}", "nothing left, /dev/shm clean",
             processes.killed_while(fault)) for fault in ("hang@1/launch", "stop@1/launch", "hang@1:2", "stop@1:2")),
    Attack("F14", "SIGKILL to linkgain's process group, a rank has the fault hang@1:2", "nothing left, /dev/shm clean",
           processes.killed_while("hang@1:2", group=True)),
    Attack("F14", "SIGKILL to exec while a server and its client run", "nothing left", processes.exec_killed),
    Attack("F15", "secrets in variables", "masked", options.secret),
    Attack("F15", "secrets in variables and words of exec", "masked", options.secret_in_exec),
    Attack("F15", "links where files are to be written", "status 2, not followed",
           output.planted_links("run.log", "journal.jsonl", "record.json", "report.md", wanted=USAGE)),
    Attack("F15", "a link where the manifest is to be", "status 2, not followed",
           output.planted_links(".linkgain", wanted=USAGE)),
    Attack("F15", "a run under umask 0", "others may write no file", output.others_may_not_write),
    Attack("F15", "how the programs were built", "what makes faults harder to use is there", files.hardened),
    *processes.ranks_alone(),
    Attack("F16", "what is named as NVIDIA's library is none", "status 0, not checkable", files.no_nvml),
    *processes.signals(),
    *processes.exec_signals(),
    Attack("F18", "17 variants", "status 2", options.many_variants(17)),
    Attack("F18", "300 variants", "status 2", options.many_variants(300)),
    Attack("F18", "a run is killed at once", "its journal is unfinished, or refused as what it is",
           output.killed_at_once),
    Attack("F18", "an empty journal", "status 2, says so", output.empty_journal),
    Attack("F18", "a false NVML is named", "in the record, warned of", options.meant_for_tests),
    Attack("F18", "an option given twice", "status 2", files.refused("run", "--budget", "5", "--budget", "6")),
    Attack("F18", "a variable that no shell takes", "status 2",
           files.refused("run", "--backend", "mpi", "--variant", "a:1A=1")),
    Attack("options", "an option without its value before --dry-run", "status 2, nothing is started", options.value_left_out),
    Attack("options", "absurd values of every option of run", "refused or planned",
           options.absurd_values("run", before=["--backend=mpi", "--np=2"])),
    Attack("options", "absurd values of every option of exec", "refused or planned",
           options.absurd_values("exec", behind=["--", "true"])),
    *processes.faults(),
    Attack("T1", "run and exec in a project that has runs/, jobs/ and report.md, twice", "status 2, nothing changed",
           folders.twice_in_a_project),
    Attack("T1", "100 random commands, each twice, in folders full of files", "not one byte of the user's changes",
           folders.random_projects(100)),
    Attack("T11", "another folder takes the place of a run's while it measures", "nothing of it is touched",
           folders.exchanged_folder),
    *(Attack("T8", f"a profile names {what}", "status 2, names file and key", nodes.hostile_profile(text))
      for what, text in nodes.PROFILES.items()),
    Attack("T8", "a profile says what is measured", "status 0", nodes.profile_beside_options),
    *(Attack("nodes", f"a hostfile with {text!r}", f"{slots} ranks" if slots else "status 2, names the line",
             nodes.hostfile(text, slots))
      for text, slots in (("localhost slots = 3\n", 3), ("localhost cpu=3 // ours\n", 3),
                          ("localhost\nlocalhost\nlocalhost\n", 3), ("localhost SLOTS=5\n", None),
                          ("localhost slots=2 slots=2\n", None), ("localhost slots=2\n127.0.0.1 slots=2\n", None),
                          ("localhost:3\n", None), ("localhost slots=3 # no line end", None))),
    *(Attack("nodes", f"Google Benchmark's {words[-1]}", "status 2, nothing is started", nodes.benchmark_option(*words))
      for words in (("--benchmark_repetitions=2", "--benchmark_enable_random_interleaving=true"),
                    ("--benchmark_min_time=nan",), ("--benchmark_min_time=1e400",),
                    ("--benchmark_min_warmup_time=-1",), ("--benchmark_time_unit=h",))),
    *(Attack("nodes", f"run {' '.join(words)} on a machine without GPUs", "status 2, names it",
             nodes.usage_before_machine(*words))
      for words in (("--np", "-3"), ("--launches", "0"), ("--gpus", "0,0"), ("--gpus", "0"), ("--variant", "=A=1"),
                    ("--variant", "a:1A=1"), ("--variant", "a:A=1", "--variant", "a:A=2"), ("--sizes", "6"),
                    ("--launcher", "srum"), ("--steps", "7"))),
    Attack("nodes", "doctor's textfile under umask 077, and a second one", "644, the second refused", nodes.textfile),
    *judgements.all_rows(),
    *programs.attacks(),
    *claims.ATTACKS,
]


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


def is_by_any_launcher(attack):
    """Whether it is to ranks of a run, whatever has started them."""
    starts = ("a rank has", "a rank is", "SIGKILL to a rank", "SIGKILL to linkgain")
    return attack.name.startswith(starts) or (attack.finding == "F17" and attack.name.endswith("to a run"))


def carry_out(attack, linkgain, worker=None):
    with tempfile.TemporaryDirectory(prefix="linkgain-attack-") as name:
        place = Place(linkgain, pathlib.Path(name), worker)
        (place.folder / "tmp").mkdir()
        try:
            outcome, held, tried = attack.do(place), True, True
        except NotTried as reason:
            outcome, held, tried = f"not tried: {reason}", True, False
        except (Surprise, OSError, KeyError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
            outcome, held, tried = " ".join(str(error).split())[:200].replace("|", "/"), False, True
        for process in place.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return Row(attack.finding, attack.name, attack.expected, outcome, held, tried)
