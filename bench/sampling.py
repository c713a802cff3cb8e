#!/usr/bin/python3
"""What sampling costs: joulery at 1 kHz on four plain-file zones against the floor (a bare C loop at the same deadlines
on the same files, at the same time), its memory, the CPU time per sample beside the peers', and missed rounds.

CPU time per round is the difference of a long and a short run over the difference of their rounds, so that start-up
and the report at the end are not counted as sampling.
"""
import json
import os
import statistics
import subprocess
import sys
import threading
import time

import stage

PAIRS = 5
SHORT_S, LONG_S = 1, 9
PEER_S = 10
IDLE_S = 60
FLOOR_FACTOR, RSS_LIMIT_MB, PEER_FACTOR = 1.3, 20.0, 5.0
PEERS = ["pyRAPL", "pyJoules", "Zeus", "CodeCarbon"]


def peak_rss_mb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0.0)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def joulery(tree, interval, seconds, file):
    """One run with its recording: CPU seconds, rounds, missed, greatest resident size."""
    words = [stage.JOULERY, "run", "--json", "--interval", interval, "--sysroot", tree.root, "-o", file, "--", "sleep", str(seconds)]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = [0.0]

    def watch():
        while child.returncode is None:
            peak[0] = max(peak[0], peak_rss_mb(child.pid))
            time.sleep(0.1)
    watcher = threading.Thread(target=watch)
    watcher.start()
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    if child.returncode:
        sys.exit(f"joulery failed: {text}")
    os.unlink(file)
    sampling = stage.json_in(text)["sampling"]
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "rounds": sampling["rounds"], "missed": sampling["missed"], "rss_mb": peak[0]}


def start_floor(tree, interval_us, seconds):
    return subprocess.Popen([stage.FLOOR, str(interval_us), str(seconds), *tree.counters], stdout=subprocess.PIPE, text=True)


def per_round_us(short, long):
    return (long["cpu_s"] - short["cpu_s"]) / (long["rounds"] - short["rounds"]) * 1e6


def against_floor(tree, interval, interval_us, folder, pairs):
    """Pairs of (joulery, floor) CPU microseconds per round, each pair measured at the same time; and the last long runs."""
    pair_costs, runs = [], []
    for _ in range(pairs):
        costs = {}
        for seconds in (SHORT_S, LONG_S):
            beside = start_floor(tree, interval_us, seconds)
            ours = joulery(tree, interval, seconds, os.path.join(folder, "bench.joulery"))
            costs[seconds] = (ours, json.loads(beside.communicate()[0]))
        pair_costs.append(tuple(per_round_us(costs[SHORT_S][n], costs[LONG_S][n]) for n in (0, 1)))
        runs.append(costs[LONG_S])
    return pair_costs, runs


def peer(name, tree, interval):
    words = [stage.WITH_RAPL, "--tree", tree.root, "--", str(stage.PEERS), str(stage.ROOT / "bench" / "peer_loop.py"), name,
             str(interval), str(PEER_S)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:] or ["failed"]
    return stage.json_in(done.stdout), None


def bench_floor(tree, folder):
    pairs, runs = against_floor(tree, "1ms", 1000, folder, PAIRS)
    ours, theirs = (statistics.median(p[n] for p in pairs) for n in (0, 1))
    ratio = statistics.median(p[0] / p[1] for p in pairs)
    rss = max(r[0]["rss_mb"] for r in runs)
    rows = [["joulery run --interval 1ms", f"{ours:.1f}", f"{ours / 10:.2f}", f"{ratio:.2f}", f"{rss:.1f}", f"{sum(r[0]['missed'] for r in runs)}"],
            ["the floor: a bare C loop", f"{theirs:.1f}", f"{theirs / 10:.2f}", "1", "-", f"{sum(r[1]['missed'] for r in runs)}"]]
    stage.table(f"1 kHz, four plain-file zones, side by side ({PAIRS} pairs, medians)",
                ["sampler", "CPU us a round", "% of a core", "x floor", "peak RSS MB", "missed"], rows)
    return [stage.result("CPU time at 1 kHz x 4 zones : the floor", f"{ratio:.2f}", f"<= {FLOOR_FACTOR}", ratio <= FLOOR_FACTOR),
            stage.result("peak resident memory at 1 kHz", f"{rss:.1f} MB", f"<= {RSS_LIMIT_MB:g} MB", rss <= RSS_LIMIT_MB)]


def cheapest(name, tree):
    """What the peer's loop costs at 1 kHz and at 100 Hz: [(what was asked, seen or None, why not)], and the cheaper cost."""
    tries = [(rate, *peer(name, tree, interval)) for rate, interval in (("1 kHz", 0.001), ("100 Hz", 0.01))]
    costs = [seen["cpu_s"] / seen["samples"] * 1e6 for _, seen, _ in tries if seen and seen["samples"]]
    return tries, min(costs, default=None)


def bench_peers(tree, folder):
    """Per sample at each tool's finest: joulery at 1 kHz, a peer at the rate, of two, where a sample costs it least."""
    rows, results = [], []
    ours = {}
    for rate, interval, us in (("1 kHz", "1ms", 1000), ("100 Hz", "10ms", 10000)):
        pairs, _ = against_floor(tree, interval, us, folder, 3)
        ours[rate], floor = (statistics.median(p[n] for p in pairs) for n in (0, 1))
        rows += [["joulery", rate, f"{ours[rate]:.0f}", "1", "-", "-"],
                 ["the floor", rate, f"{floor:.0f}", f"{floor / ours[rate]:.1f}", "-", "-"]]
    for name in PEERS:
        tries, least = cheapest(name, tree)
        for rate, seen, why in tries:
            if seen is None:
                rows.append([name, rate, "-", "-", "-", f"did not run: {why[0][:60]}"])
                continue
            cost = seen["cpu_s"] / seen["samples"] * 1e6
            rows.append([name, rate, f"{cost:.0f}", f"{cost / ours[rate]:.1f}", f"{seen['rss_mb']:.0f}", f"{seen['samples'] / PEER_S:.0f}"])
        if least is not None:
            results.append(stage.result(f"CPU time per sample at its finest, {name} : joulery", f"{least / ours['1 kHz']:.1f}", f">= {PEER_FACTOR:g}",
                                        least >= PEER_FACTOR * ours["1 kHz"]))
    stage.table("CPU time per sample (all zones once) on the same files, laid under /sys for the peers",
                ["sampler", "asked", "CPU us a sample", "x joulery at that rate", "RSS MB", "samples a second taken"], rows)
    return results


def bench_missed(tree, folder):
    load = os.getloadavg()[0]
    beside = start_floor(tree, 10000, IDLE_S)
    ours = joulery(tree, "10ms", IDLE_S, os.path.join(folder, "idle.joulery"))
    theirs = json.loads(beside.communicate()[0])
    stage.table(f"Missed rounds at 100 Hz over {IDLE_S} s (load average before: {load:.2f} on {os.cpu_count()} CPUs)",
                ["sampler", "rounds", "missed"], [["joulery", ours["rounds"], ours["missed"]], ["the floor, at the same time", theirs["rounds"], theirs["missed"]]])
    return [stage.result(f"missed rounds at 100 Hz over {IDLE_S} s (the floor beside it: {theirs['missed']})", str(ours["missed"]), "0", ours["missed"] == 0)]


def main():
    stage.need(stage.JOULERY, stage.FLOOR, stage.PEERS)
    folder = stage.home()
    results = []
    with stage.Tree(folder.name) as tree:
        for part in (bench_floor, bench_peers, bench_missed):
            results += part(tree, folder.name)
    stage.tell(results)


if __name__ == "__main__":
    main()
