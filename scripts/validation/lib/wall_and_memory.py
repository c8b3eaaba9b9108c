"""Runs a command without its output and prints its wall time, processor time and most memory."""
import resource
import subprocess
import sys
import time


def main():
    begin = time.monotonic()
    status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False).returncode
    wall = time.monotonic() - begin
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"exit status {status}: {wall:.2f} s wall, {usage.ru_utime + usage.ru_stime:.2f} s of processors, "
          f"{usage.ru_maxrss / 1024:.0f} MiB at most")


if __name__ == "__main__":
    main()
