#!/usr/bin/python3
"""What the eBPF program that bills CPU time costs per context switch: a pipe ping-pong on one CPU, with it and without it by turns.
And what that is of a real training job: a thousandth cannot be timed, so all switches of the machine while the job runs are counted."""
import os
import resource
import statistics
import subprocess
import sys

import stage

LIMIT = 250.0   # ns per switch
SHARE = 0.1     # per cent of a training job's CPU time
STEPS = 400


def switches():
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt "))


def training(ns):
    """Trains the example's classifier with PyTorch; what the program would add to it at `ns` a switch."""
    what = "eBPF program, of a training job's CPU time"
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    words = ["/usr/bin/python3", str(stage.ROOT / "examples" / "torch_fashion.py"), "--steps", str(STEPS)]
    before, cpu = switches(), used()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(stage.BUILD / "python")})
    count, cpu = switches() - before, used() - cpu
    if done.returncode:
        print("training: " + (done.stderr.strip().splitlines() or ["failed"])[-1])
        return stage.result(what, "did not run", f"<= {SHARE:g} %", False)
    share = 100 * count * ns * 1e-9 / cpu
    stage.table(f"A classifier trained with PyTorch, {STEPS} steps, and all switches of the machine meanwhile",
                ["CPU s of the job", "switches", "ns each", "per cent of the job"], [[f"{cpu:.1f}", count, f"{ns:.0f}", f"{share:.4f}"]])
    return stage.result(what, f"{share:.4f} %", f"<= {SHARE:g} %", share <= SHARE)


def main():
    program = str(stage.BUILD / "bench" / "switches_bench")
    stage.need(program)
    how = stage.undisturbed()
    done = subprocess.run([program, "40", "20000"], capture_output=True, text=True)
    what = "eBPF program per context switch, median"
    if done.returncode:
        print("switches: " + done.stderr.strip())
        stage.tell([stage.result(what, "did not run", f"<= {LIMIT:g} ns", False)])
        sys.exit(1)
    pairs = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    extra = [with_it - without for without, with_it in pairs]
    low, middle, high = statistics.quantiles(extra, n=4)
    base = statistics.median(without for without, _ in pairs)
    stage.table(f"Context switches of a pipe ping-pong on one CPU ({how}), ns per switch, {len(pairs)} rounds each",
                ["", "lower quarter", "median", "upper quarter"],
                [["without the program", "", f"{base:.0f}", ""], ["the program adds", f"{low:.0f}", f"{middle:.0f}", f"{high:.0f}"],
                 ["the program adds, per cent", "", f"{100 * middle / base:.1f}", ""]])
    stage.tell([stage.result(what, f"{middle:.0f} ns", f"<= {LIMIT:g} ns", middle <= LIMIT), training(middle)])


if __name__ == "__main__":
    main()
