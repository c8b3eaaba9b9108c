"""A process that keeps the first GPU busy while linkgain runs."""

import os
import pathlib
import selectors
import shutil
import subprocess
import time

# Seconds until it says that it is busy: PyTorch takes long to be loaded.
LONGEST_START = 120.0
SOURCE = pathlib.Path(__file__).resolve().with_name("busy_gpu.cu")
BY_PYTORCH = """
import ctypes, torch
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: ends with whoever started it
a = torch.ones(8192, 8192, device="cuda:0")
torch.mm(a, a); torch.cuda.synchronize()
print("busy", flush=True)
while True:
    for _ in range(4):
        torch.mm(a, a)
    torch.cuda.synchronize()
"""


class NoNeighbour(Exception):
    """Nothing here can keep a GPU busy."""


def find_nvcc():
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    return shutil.which(os.environ.get("CUDACXX", "nvcc")) or next(
        (found for home in homes if home and (found := shutil.which(f"{home}/bin/nvcc"))), None)


def neighbour_command(folder):
    """Of busy_gpu.cu, built into the folder, or of PyTorch where there is no compiler."""
    nvcc = find_nvcc()
    if nvcc:
        program = pathlib.Path(folder) / "busy_gpu"
        if subprocess.run([nvcc, "-O2", "-arch=native", "-o", program, SOURCE], check=False).returncode == 0:
            return [str(program)]
    if subprocess.run(["python3", "-c", "import torch; torch.ones(1, device='cuda:0')"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return ["python3", "-c", BY_PYTORCH]
    raise NoNeighbour("neither nvcc nor PyTorch can make a program that keeps GPU 0 busy; name one by --neighbour")


class Neighbour:
    """It is told apart from linkgain's own processes by its id; ended with the block."""

    def __init__(self, command):
        self.command = command
        self.process = None

    def start(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        start_new_session=True)

    def wait_until_busy(self):
        end = time.monotonic() + LONGEST_START
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if selector.select(end - time.monotonic()) and self.process.stdout.readline().strip() == b"busy":
                return
        raise NoNeighbour(f"{self.command[0]} did not say in {LONGEST_START:.0f} s that it is busy")

    def works(self):
        return self.process is not None and self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
