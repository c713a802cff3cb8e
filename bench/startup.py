#!/usr/bin/python3
"""What `joulery run -- true` costs in wall time, beside bare `true` and `perf stat -- true`.

The commands take turns, so that whatever else the machine does falls on all alike; medians over all turns.
"""
import os
import shutil
import statistics
import subprocess
import sys
import time

import stage

TURNS = 150
EXTRA_LIMIT_MS = 15.0
PERF_FACTOR = 3.0


def cost_ms(words, quiet):
    """Wall time, and CPU time of the command with its children."""
    begin = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)])
    _, status, usage = os.wait4(pid, 0)
    taken = (time.perf_counter() - begin) * 1e3
    if status:
        sys.exit(f"{' '.join(words)} failed: {os.waitstatus_to_exitcode(status)}")
    return taken, (usage.ru_utime + usage.ru_stime) * 1e3


def main():
    stage.need(stage.JOULERY)
    folder = stage.home()
    true = shutil.which("true")
    with stage.Tree(folder.name) as tree:
        tree.player.send_signal(19)  # SIGSTOP: counters need not move while a command of a millisecond runs
        commands = {"true": [true]}
        perf = shutil.which("perf")
        if perf and subprocess.run([perf, "stat", "--", true], capture_output=True).returncode == 0:
            commands["perf stat -- true"] = [perf, "stat", "--", true]
        commands["joulery run -- true"] = [stage.JOULERY, "run", "--", true]
        commands["joulery run --no-save -- true"] = [stage.JOULERY, "run", "--no-save", "--", true]
        commands["joulery run --sysroot (four zones) -- true"] = [stage.JOULERY, "run", "--sysroot", tree.root, "--", true]
        priority = stage.undisturbed()
        quiet = os.open(os.devnull, os.O_WRONLY)
        times = {name: [] for name in commands}
        cpu = {name: [] for name in commands}
        for turn in range(TURNS + 3):
            for name, words in commands.items():
                wall, busy = cost_ms(words, quiet)
                if turn >= 3:  # the first turns warm the caches
                    times[name].append(wall)
                    cpu[name].append(busy)
        tree.player.send_signal(18)
    median = {name: statistics.median(values) for name, values in times.items()}
    base = median["true"]
    peer = median.get("perf stat -- true")
    rows = [[name, f"{m:.2f}", f"{statistics.quantiles(times[name], n=10)[0]:.2f}", f"{m - base:+.2f}", f"{m / peer:.2f}" if peer else "-",
             f"{statistics.median(cpu[name]):.2f}"]
            for name, m in median.items()]
    stage.table(f"Start-up: wall time of one command, {TURNS} turns, {priority} (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs)",
                ["command", "median ms", "10 % ms", "above true ms", "x perf stat", "CPU ms"], rows)
    ours = median["joulery run -- true"]
    results = [stage.result("joulery run -- true above bare true", f"{ours - base:.2f} ms", f"<= {EXTRA_LIMIT_MS:g} ms", ours - base <= EXTRA_LIMIT_MS)]
    if peer:
        results.append(stage.result("joulery run -- true : perf stat -- true", f"{ours / peer:.2f}", f"<= {PERF_FACTOR:g}", ours <= PERF_FACTOR * peer))
    stage.tell(results)


if __name__ == "__main__":
    main()
