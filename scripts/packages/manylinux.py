"""scikit-build-core's hooks, but the wheel's name says which C library its programs need, as auditwheel finds it in them."""

import json
import pathlib
import subprocess
import sys

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403


def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel = pathlib.Path(folder, build.build_wheel(folder, config_settings, metadata_directory))
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", wheel], check=True, stdout=subprocess.PIPE)
    tag = json.loads(shown.stdout)["overall_tag"]
    renamed = subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel],
                             check=True, stdout=subprocess.PIPE, text=True)
    return renamed.stdout.split()[-1]
