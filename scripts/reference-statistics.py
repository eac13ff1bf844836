#!/usr/bin/env python3
"""Writes the values that the tests of rstat-probe-report's statistics compare with.

    pip install numpy scipy statsmodels
    python3 scripts/reference-statistics.py

Everything is seeded: the same versions write the same file.
"""

import json
import math
from pathlib import Path

import numpy as np
import scipy
from scipy import stats
import statsmodels
from statsmodels.tsa.stattools import acf

TESTS = Path(__file__).resolve().parent.parent / "rstat-probe-report" / "tests"
RNG = np.random.default_rng(20240601)

# Resamples of the reference and of the test, and how many standard errors they may be apart.
REFERENCE_RESAMPLES = 400_000
TEST_RESAMPLES = 10_000
STANDARD_ERRORS = 5


def plain(values):
    """A list that is short as JSON: integers without a fraction."""
    return [int(v) if float(v).is_integer() and abs(v) <= 2**53 else float(v) for v in values]


def published(name):
    """One number a line."""
    path = next((TESTS / "corpus" / "samples").glob(name))
    return [float(line) for line in path.read_text().split()]


def two_samples():
    """Pairs of samples with what each function makes of them."""
    rounded = lambda values, digits=3: np.round(values, digits)
    pairs = {
        "published": (published("S6-*"), published("S7-*")),
        "one and one": ([1], [2]),
        "one and one, equal": ([7], [7]),
        "one and two": ([5], [1, 5]),
        "two and three": ([1, 4], [2, 3, 9]),
        "three and three, apart": ([1, 2, 3], [10, 11, 12]),
        "all equal": ([3] * 6, [3] * 9),
        "identical": (range(10), range(10)),
        "two values only": ([0] * 12 + [1] * 5, [0] * 4 + [1] * 11),
        "many ties": (RNG.integers(0, 5, 40), RNG.integers(1, 6, 35)),
        "one tie across": ([1, 2, 3, 4], [4, 5, 6]),
        "negative and zero": ([-3, -0.0, 0, 2], [0, -1, 5, 0.5, -0.0]),
        "even number of pairs": (rounded(RNG.normal(size=8)), rounded(RNG.normal(size=7))),
        "odd number of pairs": (rounded(RNG.normal(size=9)), rounded(RNG.normal(size=7))),
        "heavy tails": (rounded(RNG.standard_cauchy(30)), rounded(RNG.standard_cauchy(25) + 1)),
        "latencies": (RNG.lognormal(9, 1, 50).round(), RNG.lognormal(9.3, 1.2, 45).round()),
        "large": (RNG.integers(2**52, 2**53, 20), RNG.integers(2**52, 2**53, 24)),
        "huge": (RNG.normal(size=12) * 1e300, RNG.normal(size=11) * 1e300),
        "tiny": (RNG.normal(size=10) * 1e-300, RNG.normal(size=10) * 1e-300),
        "far apart": (rounded(RNG.normal(0, 1, 150), 2), rounded(RNG.normal(50, 1, 150), 2)),
        "unequal sizes": (rounded(RNG.exponential(2, 4)), rounded(RNG.exponential(3, 90))),
    }
    for name, (baseline, candidate) in pairs.items():
        b, c = np.asarray(baseline, float), np.asarray(candidate, float)
        u = stats.mannwhitneyu(c, b, method="asymptotic", use_continuity=True)
        yield {
            "name": name,
            "baseline": plain(b),
            "candidate": plain(c),
            "u": u.statistic,
            "p": u.pvalue,
            "probability_greater": np.mean((c[:, None] > b) + 0.5 * (c[:, None] == b)),
            "hodges_lehmann": np.median(np.subtract.outer(c, b)),
            "ks": stats.ks_2samp(c, b, method="asymp").statistic,
        }


def quantiles():
    for values in ([4], [1, 2], [1, 2, 3, 4], range(11), [1, 1, 1, 9], RNG.normal(size=37) * 1e6):
        values = np.sort(np.asarray(values, float))
        q = [0, 0.001, 0.025, 0.25, 1 / 3, 0.5, 0.75, 0.9, 0.975, 0.99, 1]
        yield {"sorted": plain(values), "q": q, "expected": list(np.quantile(values, q))}


def permutations():
    """Exact tests of the difference of means."""
    difference = lambda x, y, axis=-1: np.mean(x, axis=axis) - np.mean(y, axis=axis)
    size = lambda x, y, axis=-1: np.abs(difference(x, y, axis))
    for baseline, candidate in (
        ([1, 2, 3, 4], [11, 12, 13, 14]),
        ([1.1, 2.3, 0.7, 5.9, 3.1], [4.2, 3.3, 6.1, 7.7, 2.9]),
        ([0.1, 0.2, 0.3, 0.1, 0.2, 0.3], [0.3, 0.2, 0.1, 0.3, 0.2, 0.4]),
        ([10, 12, 11], [13, 12, 15, 19, 11, 12, 16]),
        ([5, 5, 5, 5], [5, 5, 5, 6]),
    ):
        # About 0, which is the mean of all labellings, also for sides of different size.
        tested = stats.permutation_test(
            (candidate, baseline), size, n_resamples=np.inf, alternative="greater", vectorized=True
        )
        yield {"baseline": baseline, "candidate": candidate, "p": tested.pvalue}


def max_t():
    """Exact, of two statistics: the difference of means of two columns. scipy gives the plain p and,
    for the larger of both standardised sizes, the adjusted p of the larger one."""
    for sizes, shift in (((5, 5), (2.0, 0.3)), ((4, 7), (0.8, 1.4)), ((6, 4), (0, 0))):
        units = RNG.normal(size=(sum(sizes), 2))
        units[sizes[0] :] += shift
        units = np.round(units * [10, 1000])

        def differences(candidate, baseline):
            c, b = np.asarray(candidate, int), np.asarray(baseline, int)
            return units[c].mean(axis=0) - units[b].mean(axis=0)

        order = np.arange(sum(sizes))
        sides = order[sizes[0] :], order[: sizes[0]]
        exact = dict(n_resamples=np.inf, vectorized=False, alternative="greater")
        scale, p = [], []
        for column in (0, 1):
            one = stats.permutation_test(sides, lambda c, b: abs(differences(c, b)[column]), **exact)
            scale.append(math.sqrt(np.mean(one.null_distribution**2)))
            p.append(one.pvalue)
        larger = lambda c, b: float(np.max(np.abs(differences(c, b)) / scale))
        furthest = stats.permutation_test(sides, larger, **exact)
        yield {
            "units": [plain(column) for column in units.T],
            "baseline_units": sizes[0],
            "observed": list(differences(*sides)),
            "p": p,
            "larger": int(np.argmax(np.abs(differences(*sides)) / scale)),
            "adjusted_p_of_larger": furthest.pvalue,
        }


def bootstraps():
    """Percentile intervals, and the range in which one of TEST_RESAMPLES lies with both Monte Carlo
    errors: the quantiles of the replicates at tails that are off by so many standard errors."""
    for confidence in (0.9, 0.95):
        baseline = np.round(RNG.lognormal(3, 0.8, 14), 2)
        candidate = np.round(RNG.lognormal(3.2, 0.8, 19), 2)
        tail = (1 - confidence) / 2
        error = STANDARD_ERRORS * math.sqrt(
            tail * (1 - tail) * (1 / REFERENCE_RESAMPLES + 1 / TEST_RESAMPLES)
        )
        case = {"baseline": plain(baseline), "candidate": plain(candidate), "confidence": confidence}
        for name, function in (("mean", np.mean), ("median", np.median)):
            result = stats.bootstrap(
                (candidate, baseline),
                lambda c, b, axis=-1: function(c, axis=axis) - function(b, axis=axis),
                n_resamples=REFERENCE_RESAMPLES,
                confidence_level=confidence,
                method="percentile",
                batch=20_000,
                rng=RNG,
            )
            at = lambda q: float(np.quantile(result.bootstrap_distribution, q))
            assert math.isclose(at(tail), result.confidence_interval.low)
            case[name] = {
                "low": [at(tail - error), at(tail + error)],
                "high": [at(1 - tail - error), at(1 - tail + error)],
            }
        yield case


def expanded_tails():
    for units in (2, 3, 4, 5, 10, 30, 100, 499, 500, 501, 2000, 100_000):
        for confidence in (0.5, 0.9, 0.95, 0.99, 0.999):
            t = stats.t.ppf((1 - confidence) / 2, units - 1)
            tail = stats.norm.cdf(math.sqrt(units / (units - 1)) * t)
            yield {"units": units, "confidence": confidence, "tail": tail}


def series():
    def walk(pull, count):
        values = [0.0]
        for step in RNG.normal(size=count - 1):
            values.append(pull * values[-1] + step)
        return np.round(values, 3)

    for values in (
        [1, 2, 3, 4],
        [1, -1] * 8,
        RNG.normal(size=50).round(3),
        walk(0.5, 120),
        walk(0.8, 200),
        walk(0.95, 200),
        RNG.integers(0, 2**50, 20),
    ):
        values = np.asarray(values, float)
        yield {"values": plain(values), "autocorrelation": acf(values, nlags=1)[1]}


def main():
    reference = {
        "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "two_samples": list(two_samples()),
        "quantiles": list(quantiles()),
        "permutations": list(permutations()),
        "max_t": list(max_t()),
        "bootstrap_resamples": TEST_RESAMPLES,
        "bootstraps": list(bootstraps()),
        "expanded_tails": list(expanded_tails()),
        "series": list(series()),
    }
    # One case a line.
    parts = []
    for key, value in reference.items():
        lines = value if isinstance(value, list) else None
        text = json.dumps(value) if lines is None else "[\n" + ",\n".join(map(json.dumps, lines)) + "\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    path = TESTS / "statistics" / "reference.json"
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
