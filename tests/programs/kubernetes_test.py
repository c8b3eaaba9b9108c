"""Holds scripts/kubernetes to Kubernetes' own schemas, and to the options that linkgain has.

Environment: LINKGAIN is the program; LINKGAIN_BUILD the build folder, where scripts/test --cluster puts the schemas.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["LINKGAIN_BUILD"])
PYTHON_WITH_SCHEMAS = BUILD / "validators" / "bin" / "python"
try:
    import kubernetes_validate
    import yaml
except ImportError:
    if not PYTHON_WITH_SCHEMAS.exists() or os.environ.get("LINKGAIN_AGAIN"):
        print("no schemas of Kubernetes (scripts/test --cluster gets them)")
        sys.exit(77)
    os.environ["LINKGAIN_AGAIN"] = "1"
    os.execv(PYTHON_WITH_SCHEMAS, [str(PYTHON_WITH_SCHEMAS), *sys.argv])

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKGAIN = os.environ["LINKGAIN"]
FOLDER = ROOT / "scripts" / "kubernetes"
# From the oldest that is still supported somewhere to one that is new.
VERSIONS = ["1.27", "1.33"]
# Members of the MPI operator's v2beta1 that there are beside Kubernetes' own.
MPI_JOB_MEMBERS = {"slotsPerWorker", "runLauncherAsWorker", "launcherCreationPolicy", "mpiImplementation", "runPolicy",
                   "mpiReplicaSpecs", "sshAuthMountPath"}
RUN_POLICY_MEMBERS = {"backoffLimit", "activeDeadlineSeconds", "cleanPodPolicy", "ttlSecondsAfterFinished", "suspend",
                      "schedulingPolicy", "managedBy"}


def load(name):
    return yaml.safe_load((FOLDER / name).read_text())


def validate(document):
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)


def pod_of(template):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "any", **template.get("metadata", {})},
            "spec": template["spec"]}


def templates():
    """Every pod's template of every file."""
    for path in sorted(FOLDER.glob("*.yaml")):
        spec = load(path.name)["spec"]
        found = [spec["template"]] if "template" in spec else [r["template"] for r in spec["mpiReplicaSpecs"].values()]
        for template in found:
            yield path.name, template


def command_lines():
    """Words of every call of linkgain."""
    for name, template in templates():
        for container in template["spec"]["containers"]:
            words = container.get("command", []) + container.get("args", [])
            if words[0] == "/bin/sh":
                for call in re.findall(r"\blinkgain [^;]*", words[2]):
                    yield name, shlex.split(call)
            elif words[0] == "linkgain":
                yield name, words


class Kubernetes(unittest.TestCase):
    def test_kubernetes_takes_its_own_kinds(self):
        for name in ["node-check.yaml", "fleet.yaml", "doctor.yaml"]:
            with self.subTest(name):
                validate(load(name))

    def test_a_wrong_member_is_found(self):
        document = load("node-check.yaml")
        document["spec"]["paralelism"] = 2
        with self.assertRaises(kubernetes_validate.ValidationError):
            validate(document)

    def test_the_mpi_operator_takes_its_job(self):
        job = load("all-nodes.yaml")
        self.assertEqual((job["apiVersion"], job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        spec = job["spec"]
        self.assertLessEqual(set(spec), MPI_JOB_MEMBERS)
        self.assertLessEqual(set(spec["runPolicy"]), RUN_POLICY_MEMBERS)
        self.assertEqual(set(spec["mpiReplicaSpecs"]), {"Launcher", "Worker"})
        self.assertEqual(spec["mpiReplicaSpecs"]["Launcher"]["replicas"], 1)
        for replica in spec["mpiReplicaSpecs"].values():
            self.assertLessEqual(set(replica), {"replicas", "restartPolicy", "template"})
            self.assertIn(replica["restartPolicy"], {"Never", "OnFailure"})
            validate(pod_of(replica["template"]))
            gpus = replica["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
            self.assertEqual(gpus, spec["slotsPerWorker"])

    def test_pods_that_measure_have_shared_memory_and_a_node_each(self):
        measuring = 0
        for name, template in templates():
            container = template["spec"]["containers"][0]
            if "nvidia.com/gpu" not in container["resources"]["limits"]:
                continue
            measuring += 1
            with self.subTest(name):
                self.assertIn("/dev/shm", [mount["mountPath"] for mount in container["volumeMounts"]])
                terms = template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                labels = terms[0]["labelSelector"]["matchLabels"]
                self.assertLessEqual(labels.items(), template["metadata"]["labels"].items())
        self.assertEqual(measuring, 3)

    def test_volumes_are_there(self):
        for name, template in templates():
            volumes = {volume["name"] for volume in template["spec"].get("volumes", [])}
            for container in template["spec"]["containers"]:
                with self.subTest(name):
                    self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_a_node_without_a_record_fails_the_fleet(self):
        container = load("fleet.yaml")["spec"]["template"]["spec"]["containers"][0]
        command = container["command"]
        expected = command[command.index("--expect") + 1]
        named = {f"$({each['name']})": each["valueFrom"]["configMapKeyRef"] for each in container["env"]}
        self.assertEqual(named[expected], {"name": "linkgain-nodes", "key": "nodes"})
        self.assertIn("create configmap linkgain-nodes --from-literal=nodes=", (FOLDER / "fleet.yaml").read_text())
        # A pod of an indexed job has the job's name for a host name: the node's is that of its folder.
        self.assertIn("--name-by-folder", command)
        check = load("node-check.yaml")["spec"]["template"]["spec"]["containers"][0]
        nodes, folder = re.search(r'--out "(/results/\w+)/\$(\w+)"', check["args"][0]).groups()
        self.assertIn(nodes, command)
        launcher = load("all-nodes.yaml")["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        self.assertNotIn(nodes, launcher["command"][-1], "a run over several nodes is no node")
        sources = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in check["env"]}
        self.assertEqual(sources[folder], "spec.nodeName")

    def test_linkgain_has_the_options(self):
        calls = list(command_lines())
        self.assertEqual(len(calls), 4)
        for name, words in calls:
            with self.subTest(name):
                done = subprocess.run([LINKGAIN, words[1], "--help"], capture_output=True, text=True, timeout=300,
                                      check=True)
                for option in words:
                    if option.startswith("--"):
                        self.assertIn(option + " ", done.stdout)


if __name__ == "__main__":
    unittest.main()
