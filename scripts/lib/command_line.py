"""The command lines of the scripts in Python."""

import argparse
import shutil

EXIT_USAGE, EXIT_MACHINE = 2, 3


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with an option, as all programs of linkgain do, and ends with 2."""

    def error(self, message):
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see --help)\n")

    def require_programs(self, *programs):
        """Names the first that is missing in one line, and ends with 3: a path, or a name to be found on PATH."""
        for program in programs:
            if not shutil.which(program):
                self.exit(EXIT_MACHINE, f"{self.prog}: there is no program {program}\n")
