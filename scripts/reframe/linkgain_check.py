"""linkgain as a ReFrame test: the links of one node, compared with a baseline.

    linkgain baseline good/record.json -o baseline.json
    reframe -c scripts/reframe/linkgain_check.py -r -S LinkgainNode.baseline=$PWD/baseline.json

Measures `linkgain run --profile node` and has `linkgain check` compare it with the baseline. The baseline's
references, tolerances and overrides become ReFrame's, one performance variable for each variant and case, in
seconds. As with `check`, to be faster is no failure. The job needs all GPUs of a node: on a cluster name them
in the partition's `access` or with -J gpus-per-node=8. Settings (-S LinkgainNode.NAME=VALUE):

    baseline     what `linkgain baseline` wrote (also: LINKGAIN_BASELINE); needed
    program      linkgain, where it is not on PATH
    run_options  more options of `linkgain run`, with commas: --launches,3
                 (--backend,nccl unless they name another)
"""

import json
import math
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

# A reference and a measurement are both means over launches, and launches differ. Beyond the tolerance a
# difference must be this many of its standard errors to fail.
STANDARD_ERRORS = 3
RECORD = "record"
CHECK = "check.json"
# Of check: slower, inconclusive. Both leave the cases to the references.
JUDGED = (0, 1, 7)


def upper_bound(case, deviation):
    """How much longer than its reference a case may take, as a fraction; None where that is not bounded."""
    if case["upper"] is None:
        return None
    error = deviation * math.sqrt(1 / case["launches"] + 1 / case["reference_launches"])
    return case["upper"] + STANDARD_ERRORS * error


@rfm.simple_test
class LinkgainNode(rfm.RunOnlyRegressionTest):
    descr = "What each link of the node carries, with P2P and without, against a baseline"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    program = variable(str, value="linkgain")
    baseline = variable(str, value=os.environ.get("LINKGAIN_BASELINE", ""))
    run_options = variable(typ.List[str], value=[])
    num_tasks = 1
    exclusive_access = True
    time_limit = "30m"
    keep_files = [RECORD, CHECK]

    @run_before("run")
    def measure_and_check(self):
        """linkgain starts its own ranks, on the node where it runs."""
        if not os.path.isfile(self.baseline):
            raise SanityError(f"there is no baseline {self.baseline!r}: give -S LinkgainNode.baseline=FILE")
        program, baseline = shlex.quote(self.program), shlex.quote(os.path.abspath(self.baseline))
        backend = [] if "--backend" in self.run_options else ["--backend", "nccl"]
        self.job.launcher = getlauncher("local")()
        self.executable = program
        self.executable_opts = ["run", "--profile", "node", "--quiet", "--out", RECORD, *backend, *self.run_options]
        self.postrun_cmds = [f"{program} check {RECORD} --baseline {baseline} --json > {CHECK}"]

    def stage_json(self, name):
        with open(os.path.join(self.stagedir, name), encoding="utf-8") as file:
            return json.load(file)

    @sanity_function
    def is_complete_and_right(self):
        """Every case was measured as the baseline was, with right data, over the path that the baseline names."""
        try:
            record, check = self.stage_json(f"{RECORD}/record.json"), self.stage_json(CHECK)
        except (OSError, ValueError) as error:
            return sn.assert_true(False, msg=f"linkgain left no result: {error}")
        wrong = [
            f"{case['case']} ({case['variant']}): {case['verdict']} {case['reason']}".strip()
            for case in check["cases"]
            if case["time_s"] is None or case["verdict"] in ("wrong-data", "other-path", "other-launch")
        ]
        return sn.all([
            sn.assert_in(record["status"], ("complete", "budget used up"), msg=f"the run is {record['status']}"),
            sn.assert_in(check["exit_code"], JUDGED),
            sn.assert_false(wrong, msg="; ".join(wrong)),
        ])

    @run_before("performance")
    def take_references(self):
        with open(self.baseline, encoding="utf-8") as file:
            deviations = {(case["variant"], case["case"]): case["spread"] for case in json.load(file)["cases"]}
        references = {}
        self.perf_variables = {}
        for case in self.stage_json(CHECK)["cases"]:
            key = (case["variant"], case["case"])
            if case["reference_s"] is None or case["time_s"] is None:
                continue
            name = "/".join(key)
            self.perf_variables[name] = sn.make_performance_function(sn.defer(case["time_s"]), "s")
            references[name] = (case["reference_s"], None, upper_bound(case, deviations.get(key) or 0), "s")
        self.reference = {"*": references}
