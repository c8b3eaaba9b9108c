"""The command lines of the scripts in Python."""

import argparse

EXIT_USAGE = 2


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with an option, as all programs of linkgain do, and ends with 2."""

    def error(self, message):
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see --help)\n")
