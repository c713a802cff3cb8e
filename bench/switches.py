#!/usr/bin/python3
"""What the eBPF program that bills CPU time costs per context switch: a pipe ping-pong on one CPU, with it and without it by turns."""
import statistics
import subprocess
import sys

import stage

LIMIT = 250.0  # ns per switch


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
    stage.tell([stage.result(what, f"{middle:.0f} ns", f"<= {LIMIT:g} ns", middle <= LIMIT)])


if __name__ == "__main__":
    main()
