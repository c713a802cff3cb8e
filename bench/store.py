#!/usr/bin/python3
"""The agent's store: counts taken in a second, bytes a count at 1 Hz on real traces, a month's hourly chart."""
import json
import subprocess
import sys

import stage

IN_LIMIT_M, BYTES_LIMIT, CHART_LIMIT_S = 2.0, 1.5, 0.050
TRACES = {"wall": "mains power of MLPerf runs, 1 Hz (real)", "gpus": "nvidia-smi power, cut to 1 Hz (real)"}


def weights(seen):
    """The file of one day, less that of the same day without series: blocks, minutes, hours and keys."""
    rows, results = [], []
    for name, title in TRACES.items():
        if name not in seen:
            continue
        samples, size = seen[name]["samples"], seen[name]["bytes"] - seen[name]["empty"]
        rows.append([title, str(samples), f"{size / samples:.2f}"])
        if samples >= 10_000:  # a few seconds of trace are less than a page
            results.append(stage.result(f"bytes a sample, {title}", f"{size / samples:.2f}", f"<= {BYTES_LIMIT:g}", size / samples <= BYTES_LIMIT))
    if rows:
        stage.table("The store on real traces, all levels together", ["trace", "samples", "bytes a sample"], rows)
    else:
        print("skipped the real traces: no ../shared")
    return results


def speeds(seen):
    rate, cpu_rate = seen["samples_a_second"] / 1e6, seen["samples_a_cpu_second"] / 1e6
    stage.table("The store's speed", ["what", "by the clock", "by CPU time"],
                [["3,000 series, committed every second, M samples/s", f"{rate:.2f}", f"{cpu_rate:.2f}"],
                 ["a month by the hour, one series, ms", f"{seen['chart_one_s'] * 1e3:.1f}", f"{seen['chart_one_cpu_s'] * 1e3:.1f}"],
                 ["the same, a group of 20, ms", f"{seen['chart_group_s'] * 1e3:.1f}", f"{seen['chart_group_cpu_s'] * 1e3:.1f}"]])
    results = [stage.result("M samples/s into the store", f"{rate:.2f}", f">= {IN_LIMIT_M:g}", rate >= IN_LIMIT_M)]
    for name, title in (("chart_one_s", "one series"), ("chart_group_s", "a group of 20")):
        results.append(stage.result(f"a month's hourly chart, {title}", f"{seen[name] * 1e3:.1f} ms", f"<= {CHART_LIMIT_S * 1e3:g} ms",
                                    seen[name] <= CHART_LIMIT_S))
    return results


def main():
    program = stage.BUILD / "bench" / "store_bench"
    stage.need(program)
    folder = stage.home()
    done = subprocess.run([str(program), folder.name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"store_bench failed: {done.stderr}")
    seen = json.loads(done.stdout)
    stage.tell(weights(seen) + speeds(seen))


if __name__ == "__main__":
    main()
