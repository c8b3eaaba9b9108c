"""95 % intervals of ratios of times, in logarithms, where ratios are differences and errors add."""

import math
import statistics
from typing import NamedTuple


class Interval(NamedTuple):
    ratio: float
    low: float
    high: float

    def excludes_one(self):
        return self.low > 1.0 or self.high < 1.0

    def half_width(self):
        """As a share of the ratio."""
        return math.log(self.high / self.low) / 2.0


def around(log_ratio, half_width):
    return Interval(*(math.exp(log_ratio + each * half_width) for each in (0, -1, 1)))


def student_probability(t, degrees):
    """That Student's t lies between 0 and t: its density's integral, by Simpson's rule."""
    steps = 400
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def density(x):
        return scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2)

    width = t / steps
    inner = sum((4 if i % 2 else 2) * density(i * width) for i in range(1, steps))
    return width / 3 * (density(0) + inner + density(t))


def student_quantile(degrees):
    """The t that 2.5 % exceed: 12.706 with 1 degree of freedom, 2.571 with 5, 1.960 with many."""
    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_probability(middle, degrees) < 0.475 else (low, middle)
    return middle


def welch(times, peer_times):
    """Of the quotient of two geometric means of launches' times; None with fewer than two launches of either.

    Deviations need not be equal: Welch, "The generalization of 'Student's' problem when several different
    population variances are involved", Biometrika 34 (1947), 28-35, with his degrees of freedom.
    """
    if min(len(times), len(peer_times)) < 2:
        return None
    logs = [[math.log(time) for time in side] for side in (times, peer_times)]
    squares = [statistics.variance(side) / len(side) for side in logs]
    difference = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    if sum(squares) == 0.0:
        return around(difference, 0.0)
    degrees = sum(squares) ** 2 / sum(each**2 / (len(side) - 1) for each, side in zip(squares, logs))
    return around(difference, student_quantile(degrees) * math.sqrt(sum(squares)))


def of_median(values):
    """(low, high) of the 95 % interval of a median, by order statistics, which outliers do not move; None of fewer than six.

    As many values are below the median as heads are thrown: those of the ranks that leave 2.5 % on either side.
    """
    ordered, cut, tail = sorted(values), 0, 0.0
    while tail + (more := math.comb(len(ordered), cut) / 2 ** len(ordered)) <= 0.025:
        tail += more
        cut += 1
    return (ordered[cut - 1], ordered[-cut]) if cut else None


def quotient(first, second):
    """Of two independent ratios; half widths add as independent errors do.

    Each was made with Student's t of its own few degrees of freedom, which are more for the two together: a little
    too wide rather than too narrow.
    """
    return around(math.log(second.ratio / first.ratio), math.hypot(first.half_width(), second.half_width()))
