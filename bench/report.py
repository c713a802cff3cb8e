#!/usr/bin/python3
"""How long `joulery report` takes on a one-day recording at 10 Hz of 20 series, what such a recording weighs, and what
recording_bench says of real traces and of writing."""
import json
import os
import statistics
import subprocess
import sys
import time

import stage

TURNS = 7
REPORT_LIMIT_S, BYTES_LIMIT, WRITE_LIMIT = 0.5, 2.0, 2.0


def seconds_of(words):
    begin = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    taken = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed: {done.stderr}")
    return taken


def bench_report(folder):
    file = os.path.join(folder, "day.joulery")
    made = json.loads(subprocess.run([str(stage.BUILD / "bench" / "day_recording"), file], check=True, capture_output=True, text=True).stdout)
    forms = {"joulery report": [], "joulery report --json": ["--json"], "joulery report --html": ["--html"]}
    times = {form: [] for form in forms}
    for _ in range(TURNS):
        for form, words in forms.items():
            times[form].append(seconds_of([stage.JOULERY, "report", file, *words]))
    median = {form: statistics.median(values) for form, values in times.items()}
    stage.table(f"One day at 10 Hz of 20 series (made): {made['samples'] / 1e6:.1f} M samples, {made['bytes'] / 1e6:.1f} MB, "
                f"{made['bytes'] / made['samples']:.2f} bytes a sample",
                ["command", "median s", "least s"], [[form, f"{m:.2f}", f"{min(times[form]):.2f}"] for form, m in median.items()])
    seconds = median["joulery report"]
    return [stage.result("report of a day at 10 Hz of 20 series", f"{seconds:.2f} s", f"<= {REPORT_LIMIT_S} s", seconds <= REPORT_LIMIT_S)]


def bench_recording():
    """The rows of recording_bench: the name, then samples, bytes a sample, the same less the empty file, M/s written …"""
    text = subprocess.run([str(stage.BUILD / "bench" / "recording_bench")], check=True, capture_output=True, text=True).stdout
    print("\nRecordings: size and speed\n\n```\n" + text.rstrip() + "\n```", flush=True)
    results = []
    for line in text.splitlines()[1:]:
        name, numbers = line.rsplit(")", 1) if ")" in line else (line, "")
        cells = numbers.split()
        if len(cells) < 5:
            continue
        if "(real" in name:
            results.append(stage.result(f"bytes a sample, {name})", cells[1], f"<= {BYTES_LIMIT:g}", float(cells[1]) <= BYTES_LIMIT))
        written = float(cells[3])
        if "committed every second" in name:
            continue  # told, but not what the target is about: 200 samples a second come, and each second is kept by itself
        results.append(stage.result(f"M samples/s written, {name})", cells[3], f">= {WRITE_LIMIT:g}", written >= WRITE_LIMIT))
    return results


def main():
    stage.need(stage.JOULERY, stage.BUILD / "bench" / "day_recording", stage.BUILD / "bench" / "recording_bench")
    folder = stage.home()
    stage.tell(bench_report(folder.name) + bench_recording())


if __name__ == "__main__":
    main()
