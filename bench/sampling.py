#!/usr/bin/python3
"""What sampling costs: joulery at 1 kHz on four plain-file zones against the floor (a bare C loop at the same deadlines
on the same files, at the same time), its memory, the CPU time per sample beside the peers', and missed rounds.

CPU time per round is what all threads of a process used between two moments in the middle of its run, so that neither
start-up nor the report at the end is counted as sampling. What a whole run costs beyond that is told beside it.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import stage

PAIRS = 12
PAIR_S, RUN_S, SETTLED_S = 6, 8, 1
PEER_S = 10
IDLE_S = 60
FLOOR_FACTOR, RSS_LIMIT_MB, PEER_FACTOR = 1.3, 20.0, 5.0
PEERS = ["pyRAPL", "pyJoules", "Zeus", "CodeCarbon"]


def cpu_s(pid):
    """CPU seconds of all living threads, exact."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total * 1e-9


def peak_rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0.0)


def start_joulery(tree, interval, seconds, file):
    words = [stage.JOULERY, "run", "--json", "--interval", interval, "--sysroot", tree.root, "-o", file, "--", "sleep", str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def start_floor(tree, interval_us, seconds):
    return subprocess.Popen([stage.FLOOR, str(interval_us), str(seconds), *tree.counters], stdout=subprocess.PIPE, text=True)


def end_joulery(child, file):
    """Rounds, missed rounds, and CPU seconds of the whole run."""
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"joulery failed: {text}")
    os.unlink(file)
    report = stage.json_in(text)
    return {"rounds": report["sampling"]["rounds"], "missed": report["sampling"]["missed"], "seconds": report["duration_s"],
            "whole_cpu_s": usage.ru_utime + usage.ru_stime}


def end_floor(child, seconds):
    seen = json.loads(child.communicate()[0])
    return {"rounds": seen["rounds"], "missed": seen["missed"], "seconds": seconds, "whole_cpu_s": seen["cpu_s"]}


def side_by_side(tree, interval, interval_us, folder, seconds):
    """(joulery, the floor) at the same time; to each what end_* says, "us": CPU microseconds a round, and joulery's "rss_mb"."""
    file = os.path.join(folder, "bench.joulery")
    children = (start_joulery(tree, interval, seconds, file), start_floor(tree, interval_us, seconds))
    time.sleep(SETTLED_S)
    begin = [(time.monotonic(), cpu_s(child.pid)) for child in children]
    time.sleep(seconds - 2 * SETTLED_S)
    end = [(time.monotonic(), cpu_s(child.pid)) for child in children]
    rss = peak_rss_mb(children[0].pid)
    seen = (end_joulery(children[0], file), end_floor(children[1], seconds))
    for one, (t0, c0), (t1, c1) in zip(seen, begin, end):
        one["us"] = (c1 - c0) / ((t1 - t0) * one["rounds"] / one["seconds"]) * 1e6
    seen[0]["rss_mb"] = rss
    return seen


def peer(name, tree, interval):
    words = [stage.WITH_RAPL, "--tree", tree.root, "--", str(stage.PEERS), str(stage.ROOT / "bench" / "peer_loop.py"), name,
             str(interval), str(PEER_S)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
    return stage.json_in(done.stdout), None


def median_us(runs, which):
    return statistics.median(run[which]["us"] for run in runs)


def bench_floor(tree, folder):
    """Whichever of the two wakes later in each millisecond finds caches that the other has warmed, and that is by chance: one
    pair may say 0.9 and the next 1.6. So it takes many, and compares what all of them used."""
    runs = [side_by_side(tree, "1ms", 1000, folder, PAIR_S) for _ in range(PAIRS)]
    ratio = sum(ours["us"] for ours, _ in runs) / sum(floor["us"] for _, floor in runs)
    rss = max(ours["rss_mb"] for ours, _ in runs)
    us = [statistics.mean(run[n]["us"] for run in runs) for n in (0, 1)]
    rows = [[name, f"{us[n]:.1f}", f"{us[n] / 10:.2f}", f"{ratio:.2f}" if n == 0 else "1", f"{rss:.1f}" if n == 0 else "-",
             sum(run[n]["missed"] for run in runs), f"{statistics.median(run[n]['whole_cpu_s'] for run in runs) * 1e3:.0f}"]
            for n, name in enumerate(["joulery run --interval 1ms", "the floor: a bare C loop"])]
    stage.table(f"1 kHz, four plain-file zones, side by side ({PAIRS} pairs of {PAIR_S} s, means)",
                ["sampler", "CPU us a round", "% of a core", "x floor", "peak RSS MB", "missed", "whole run with its report, CPU ms"], rows)
    return [stage.result("CPU time at 1 kHz x 4 zones : the floor", f"{ratio:.2f}", f"<= {FLOOR_FACTOR}", ratio <= FLOOR_FACTOR),
            stage.result("peak resident memory at 1 kHz", f"{rss:.1f} MB", f"<= {RSS_LIMIT_MB:g} MB", rss <= RSS_LIMIT_MB)]


def bench_peers(tree, folder):
    """Per sample: joulery at 1 kHz against each peer at 100 Hz, the finest that they are run at, and at 1 kHz too, where a
    sample costs everybody less, for the caches stay warm."""
    rows, results = [], []
    ours = {}
    for rate, interval, us in (("1 kHz", "1ms", 1000), ("100 Hz", "10ms", 10000)):
        runs = [side_by_side(tree, interval, us, folder, RUN_S) for _ in range(3)]
        ours[rate], floor = median_us(runs, 0), median_us(runs, 1)
        rows += [["joulery", rate, f"{ours[rate]:.0f}", "1", "-", "-"],
                 ["the floor", rate, f"{floor:.0f}", f"{floor / ours[rate]:.1f}", "-", "-"]]
    for name in PEERS:
        for rate, interval in (("100 Hz", 0.01), ("1 kHz", 0.001)):
            seen, why = peer(name, tree, interval)
            if seen is None or not seen["samples"]:
                rows.append([name, rate, "-", "-", "-", f"did not run: {why}"])
                continue
            cost = seen["cpu_s"] / seen["samples"] * 1e6
            rows.append([name, rate, f"{cost:.0f}", f"{cost / ours[rate]:.1f}", f"{seen['rss_mb']:.0f}", f"{seen['samples'] / PEER_S:.0f}"])
            results.append(stage.result(f"CPU time per sample: {name} at {rate} : joulery at 1 kHz", f"{cost / ours['1 kHz']:.1f}",
                                        f">= {PEER_FACTOR:g}", cost >= PEER_FACTOR * ours["1 kHz"]))
    stage.table("CPU time per sample (all zones once) on the same files, laid under /sys for the peers",
                ["sampler", "asked", "CPU us a sample", "x joulery at that rate", "RSS MB", "samples a second taken"], rows)
    return results


def bench_missed(tree, folder):
    ours, floor = side_by_side(tree, "10ms", 10000, folder, IDLE_S)
    stage.table(f"Missed rounds at 100 Hz over {IDLE_S} s",
                ["sampler", "rounds", "missed"], [["joulery", ours["rounds"], ours["missed"]], ["the floor, at the same time", floor["rounds"], floor["missed"]]])
    return [stage.result(f"missed rounds at 100 Hz over {IDLE_S} s (the floor beside it: {floor['missed']})", str(ours["missed"]), "0", ours["missed"] == 0)]


def main():
    stage.need(stage.JOULERY, stage.FLOOR, stage.PEERS)
    folder = stage.home()
    results = []
    with stage.Tree(folder.name) as tree:
        print(f"\nSampling is measured {stage.undisturbed()} (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs).")
        for part in (bench_floor, bench_peers, bench_missed):
            results += part(tree, folder.name)
    stage.tell(results)


if __name__ == "__main__":
    main()
