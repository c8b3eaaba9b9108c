"""Attacks on what `linkgain exec` claims of a program that does not differ between its variants."""

import json

from attack_place import INCOMPLETE, Attack, require, require_status

VARIANTS = ["--quiet", "--variant", "a:FOO=1", "--variant", "b:FOO=2"]
INCONCLUSIVE = 7


def outcome(place, options, script, wanted=0):
    """The last screen of exec on a script of sh, in which FOO is 1 or 2 and the run's number {round}."""
    status, screen, error = place.run(["exec", *VARIANTS, "--out", place.out.name, *options, "--", "sh", "-c", script])
    require_status(status, wanted, error + screen)
    return " ".join(screen.split())


def warned(place, code):
    return code in [warning["code"] for warning in place.record()["warnings"]]


def require_no_claim(screen):
    for word in (" lower", " higher", " slower", " less time", " as fast", " as long", "All runs"):
        require(word not in screen, f"it claims '{word.strip()}': {screen[-160:]}")


def constant_side(place):
    screen = outcome(place, ["--metric", "runtime ([0-9.]+)"],
                     "case $FOO in 1) echo runtime 3.00;; *) echo runtime $((2 + 2 * ({round} % 2))).00;; esac")
    require_no_claim(screen)
    require("95 % CI" in screen, "there is no interval")
    return "no difference shown, with an interval"


def coarse_digits(place):
    script = "case $FOO in 1) echo runtime 3;; *) echo runtime 4;; esac"
    require_no_claim(outcome(place, ["--metric", "runtime ([0-9.]+)"], script))
    require(warned(place, "few-digits"), "it does not warn")
    return "inconclusive, and warned of"


def coarse_digits_checked(place):
    for name, digit in (("before", 3), ("after", 4)):
        status, _, error = place.run(["exec", "--quiet", "--rounds", "4", "--variant", "a:FOO=1", "--out", name, "--metric",
                                      "runtime ([0-9.]+)", "--", "sh", "-c", f"echo runtime {digit}; sleep 0.02"])
        require_status(status, 0, error)
    require_status(place.run(["baseline", "before", "--output", "good.json"])[0], 0)
    status, text, error = place.run(["check", "after", "--baseline", "good.json", "--json"])
    verdicts = [each["verdict"] for each in json.loads(text)["cases"] if "runtime" in each["case"]]
    require(verdicts == ["inconclusive"], f"{verdicts}: {error}")
    require(status in (1, INCONCLUSIVE), f"status {status}")
    return "check finds it inconclusive"


def unequal_matches(place):
    script = "i=0; while [ $i -lt $((50 * FOO)) ]; do echo took 2.$i; i=$((i + 1)); done"
    outcome(place, ["--rounds", "3", "--metric", "took ([0-9.]+)", "--metric-use", "sum"], script)
    require(warned(place, "matches-differ"), "it does not warn")
    return "warned of"


def survivors(how):
    def do(place):
        lost = {"fail": "exit 1", "print nan": "echo loss nan; exit 0"}[how]
        script = (f"sleep 0.02; [ $FOO = 2 ] && [ $(({{round}} % 2)) = 0 ] && {{ {lost}; }}; "
                  "echo loss $FOO.{round}")
        screen = outcome(place, ["--rounds", "10", "--ci-width", "50%", "--metric", "loss ([0-9a-z.]+)"], script, INCOMPLETE)
        require_no_claim(screen)
        require("Of the runs that ended: 5 of 10 with b" in screen, screen[-160:])
        return "no comparison, 5 of 10 named"
    return do


def decimal_comma(place):
    status, screen, error = place.run(["exec", *VARIANTS, "--rounds", "1", "--out", place.out.name, "--metric",
                                       r"took: (\S+)", "--", "echo", "took: 0,312 s"])
    require_status(status, INCOMPLETE, error + screen)
    require("'0,312' is no number" in place.record()["warnings"][0]["text"], "it is read")
    return "'0,312' is no number"


def coloured_lines(place):
    outcome(place, ["--rounds", "2", "--metric", "^loss: ([0-9.]+)"],
            r"printf '\033[1mloss\033[0m: \033[36m%s\033[0m\n' $FOO.{round}23")
    log = (place.out / "runs" / "a-1.log").read_bytes()
    require(b"\033[36m" in log, "the log is changed")
    return "read, the log is raw"


def pasted_dry_run(place):
    words = ["echo one\necho two", "it's", "tab\there", "\033[31mred", "back\\slash", "trailing\n", "$HOME `id`"]
    status, lines, error = place.run(["exec", *VARIANTS, "--dry-run", "--rounds", "1", "--", "printf", r"<%s>\n", *words])
    require_status(status, 0, error)
    require("\033" not in lines, "it acts on the terminal")
    (place.folder / "lines").write_text(lines, encoding="utf-8")
    _, printed, error = place.shell('for shell in dash "bash --posix"; do $shell lines; done')
    require(printed == "".join(f"<{word}>\n" for word in words) * 4, f"{printed!r} {error}")
    return "the same in dash and bash"


def names_of_metrics(place):
    script = "echo decode b=1 x ms=1.$FOO; echo decode b=64 x ms=2.$FOO; echo step=3.$FOO ms; echo 1024 4.$FOO"
    options = ["--rounds", "2"]
    for pattern in ("decode b=1 .*ms=([0-9.]+)", "decode b=64 .*ms=([0-9.]+)", "step=([0-9.]+)", "1024 ([0-9.]+)"):
        options += ["--metric", pattern]
    outcome(place, options, script)
    names = [case["case"] for case in place.record()["cases"]]
    require(len(set(names)) == len(names), f"{names}")
    return ", ".join(names)


def periodic_neighbour(place):
    """The order of runs, in which a neighbour of any period has no rule to fall in step with."""
    orders = set()
    for seed in range(40):
        _, lines, _ = place.run(["exec", *VARIANTS, "--dry-run", "--rounds", "4", "--seed", str(seed), "--", "true"])
        orders.add("".join(line[-1] for line in lines.split("\n") if line.startswith("# round")))
    require(all(order.count("a") == order.count("b") == 4 for order in orders), "unequal numbers")
    pairs = [order for order in orders if all(order[i] != order[i + 1] for i in range(0, 8, 2))]
    require(len(orders) > 25, f"{len(orders)} orders in 40")
    require(len(pairs) < 20, f"{len(pairs)} of {len(orders)} are pairs")
    return "shuffled as a whole"


ATTACKS = [
    Attack("T2", "a metric is constant in one variant only", "no claim", constant_side),
    Attack("T4", "a neighbour with a period beside exec", "equal numbers of each variant, in no turn", periodic_neighbour),
    Attack("T6", "a metric is printed in one digit", "no claim, warned of", coarse_digits),
    Attack("T6", "check of a metric that is printed in one digit", "inconclusive", coarse_digits_checked),
    Attack("T7", "the number of matches differs between variants", "warned of", unequal_matches),
    *(Attack("T19", f"every second run of one variant must {how}", "status 6, no claim", survivors(how))
      for how in ("fail", "print nan")),
    Attack("F8", "a metric with a decimal comma", "no number, status 6", decimal_comma),
    Attack("F7", "a metric in a coloured line", "read, log as it came", coloured_lines),
    Attack("F19", "lines of a dry run in dash", "each word as it was", pasted_dry_run),
    Attack("F22", "patterns of metrics that begin alike, or with a number", "a name each", names_of_metrics),
]
