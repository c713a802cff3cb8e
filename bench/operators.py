#!/usr/bin/env python3
"""bench/operators.py: how near the powers of operators are that Joulery solves from a slow meter, on synthetic GPUs whose truth is known, and how
near any solver could come. Seeds are those that no tuning has seen (docs/measured/operators.md).

OPERATOR_WORLDS: how many worlds (300).
"""
import json
import os
import subprocess

import stage

WORLDS = int(os.environ.get("OPERATOR_WORLDS", "300"))
CASES = [("steps of 20 to 200 ms", WORLDS, []),
         ("steps of 7 ms", max(1, WORLDS // 15), ["step=0.007"]),
         ("each kind once a step", max(1, WORLDS // 3), ["calls=1"]),
         ("a meter of 25 ms", max(1, WORLDS // 6), ["tick=0.025"]),
         ("sees 25 of 100 ms, not said", max(1, WORLDS // 6), ["window=0.025", "told=0.1"]),
         ("a running mean of 1 s", max(1, WORLDS // 6), ["window=1"]),
         ("powers drift by 20 %", max(1, WORLDS // 6), ["drift=0.2"]),
         ("two streams", max(1, WORLDS // 6), ["streams=2"])]


def share(value):
    return "" if value < 0 else f"{value:.1f} %"


def main():
    program = stage.BUILD / "bench" / "operators_bench"
    stage.need(program)
    told = {}
    for name, worlds, options in CASES:
        told[name] = json.loads(subprocess.run([program, str(worlds), *options], check=True, capture_output=True, text=True).stdout)
    keys = ["groups_within", "groups_covered", "alone", "kinds_within", "kinds_covered", "bound_expected"]
    stage.table("Operators with at least 3 % of the time, and named groups of them; 10 minutes, powers of 80 to 400 W",
                ["world", "worlds", "within 5 %", "intervals hold", "told apart", "each by itself", "its intervals hold", "any unbiased solver",
                 "ms a solve"],
                [[name, row["worlds"], *[share(row[key]) for key in keys], f"{row['mean_ms']:.0f}"] for name, row in told.items()])
    rows = []
    for name in ("steps of 20 to 200 ms", "steps of 7 ms"):
        row = told[name]
        if name != "steps of 7 ms":
            rows.append(stage.result(f"operators and groups within 5 %, {name}", share(row["groups_within"]), ">= 93 %", row["groups_within"] >= 93))
        rows.append(stage.result(f"90 % intervals of groups hold, {name}", share(row["groups_covered"]), "87 to 93 %",
                                 87 <= row["groups_covered"] <= 93))
    strict = told["steps of 20 to 200 ms"]["kinds_within"]
    rows.append(stage.result("each operator by itself within 5 %, merging none", share(strict), ">= 93 %", strict >= 93))
    slowest = told["steps of 20 to 200 ms"]["mean_ms"]
    rows.append(stage.result("ms to solve 5 to 20 kinds by 6,000 readings", f"{slowest:.0f}", "<= 1000", slowest <= 1000))
    return stage.tell(rows)


if __name__ == "__main__":
    main()
