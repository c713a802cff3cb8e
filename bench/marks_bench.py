"""The Python rows of marks_bench: prints the median cost of a pair of marks. Run by marks_bench, which reads the ring."""

import statistics
import sys
import time

import joulery

BATCHES, PAIRS = 400, 500


def median_ns(body):
    """Of one turn of `body`, whose own loop is taken off by measuring an empty one."""
    each = []
    for _ in range(BATCHES):
        begin = time.monotonic_ns()
        body()
        each.append((time.monotonic_ns() - begin) / PAIRS)
        time.sleep(0.003)
    return statistics.median(each)


def empty():
    for _ in range(PAIRS):
        pass


def with_step():
    step = joulery.step
    for _ in range(PAIRS):
        with step(samples=64):
            pass


def with_module_step():
    for _ in range(PAIRS):
        with joulery.step(samples=64):
            pass


def steps():
    for _ in joulery.steps(range(PAIRS), samples=64):
        pass


def main():
    clock = float(sys.argv[1])
    loop = median_ns(empty)
    state = "" if joulery.active() else ", not measured"
    version = "Python %d.%d" % sys.version_info[:2]
    for what, body in [
        ("with joulery.step(samples=64)", with_module_step),
        ("with step(samples=64)", with_step),
        ("for … in joulery.steps(…, samples=64)", steps),
    ]:
        ns = median_ns(body) - loop
        print(f"{f'{version}: {what}{state}':<58}{ns:>9.1f}{ns / clock:>9.2f}")
    if joulery.lost():
        print(f"{joulery.lost()} marks were lost: the figures above are too low")


main()
