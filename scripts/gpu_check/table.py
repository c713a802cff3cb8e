"""What the readings say: update periods, windows, energies beside each other, as one table."""
import statistics
import subprocess

from gpu_check.nvml import POWERS


def changes(rows, name):
    """The times at which a reading took a new value."""
    known = [(row["t"], row[name]) for row in rows if name in row]
    return [t for (_, before), (t, now) in zip(known, known[1:]) if now != before]


def update_period(rows, name):
    times = changes(rows, name)
    gaps = [b - a for a, b in zip(times, times[1:])]
    return statistics.median(gaps) if len(gaps) >= 5 else None


def integral(rows, name, begin, end, window):
    """Joules by the trapezoid rule between the readings; the edges held. A mean of the last `window` seconds still tells of the phase for so
    long after it: that is taken along, less what the quiet GPU around the phase burns in that time."""
    after = (window or 0) + 0.2
    quiet = at(rows, name, begin)
    end += after
    inner = [(row["t"], row[name]) for row in rows if name in row and begin <= row["t"] <= end]
    if len(inner) < 2:
        return None
    inner = [(begin, inner[0][1])] + inner + [(end, inner[-1][1])]
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(inner, inner[1:])) - quiet * after


def at(rows, name, t):
    """A reading at t, linear between the readings around it."""
    before, after = None, None
    for row in rows:
        if name in row:
            if row["t"] <= t:
                before = row
            else:
                after = row
                break
    if not before or not after:
        return (before or after or {}).get(name)
    share = (t - before["t"]) / (after["t"] - before["t"])
    return before[name] + share * (after[name] - before[name])


def counted(rows, begin, end):
    """Joules by the counter, between its first and last change in the phase and stretched to the whole: a counter steps."""
    times = [t for t in changes(rows, "energy") if begin <= t <= end]
    if len(times) < 2:
        return None
    rise = at(rows, "energy", times[-1] + 1e-6) - at(rows, "energy", times[0] + 1e-6)
    return rise / (times[-1] - times[0]) * (end - begin)


def window_of(rows, name, phases):
    """How long a reading takes from the old power to the new after a step: a mean over W rises over W, from 10 to 90 % in 0.8 W.
    What is shown steps with the update period, so anything within one period is told as such."""
    lengths = []
    for before, step in zip(phases, phases[1:]):
        if step["name"] != "step":
            continue
        low, high = at(rows, name, before["end"] - 0.05), at(rows, name, step["end"] - 0.05)
        if low is None or high is None or high < low + 10:
            continue
        reached = {}
        for row in rows:
            if name in row and row["t"] >= step["begin"] and row["t"] <= step["end"]:
                for share in (0.1, 0.9):
                    if share not in reached and row[name] >= low + share * (high - low):
                        reached[share] = row["t"]
        if len(reached) == 2:
            lengths.append((reached[0.9] - reached[0.1]) / 0.8)
    return statistics.median(lengths) if lengths else None


def recorded(joulery, recording, uuid, begin, end):
    """Joules that joulery's own recording holds of each channel of the GPU, between two monotonic times."""
    query = ("SELECT channel, component, mono_ns, value, unit FROM samples WHERE kind='nvml' AND device LIKE '{}%' AND unit IN ('J','W') AND value NOT NULL "
             "AND mono_ns BETWEEN {} AND {} ORDER BY channel, mono_ns").format(uuid, int(begin * 1e9), int(end * 1e9))
    done = subprocess.run([joulery, "sql", recording, query], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return {}
    series = {}
    for line in done.stdout.splitlines()[1:]:
        channel, component, ns, value, unit = (line.split("\t") if "\t" in line else line.split(","))[:5]
        if "limit" not in channel:
            series.setdefault((channel, unit), []).append((int(ns) * 1e-9, float(value)))
    out = {}
    for (channel, unit), points in series.items():
        if len(points) >= 2:
            out[channel] = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]) * (end - begin) if unit == "J" else sum(
                (b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:])) / (points[-1][0] - points[0][0]) * (end - begin)
    return out


def shown(value, unit="", digits=1):
    return "-" if value is None else f"{value:.{digits}f}{unit}"


def table(facts, rows, joulery, recording):
    out = [f"GPU: {facts['gpu']} {facts['uuid']}, driver {facts['driver']}", f"load: {facts['load']}; marked steps of CUDA work: {facts['marks']}", "",
           f"{'reading':<32}{'ours':>28}{'nvidia-smi':>28}  verdict"]
    out += [f"{name:<32}{str(ours)[:27]:>28}{str(theirs)[:27]:>28}  {verdict}" for name, ours, theirs, verdict in facts["beside"]]
    out += ["", f"{'field':<32}{'raw value, or why none':>28}"]
    out += [f"{name:<32}{str(value):>28}" for name, value in facts["fields"].items()]
    out += ["", f"{'power reading':<32}{'update period':>16}{'window':>12}"]
    for name in POWERS:
        if any(name in row for row in rows):
            period, window = update_period(rows, name), window_of(rows, name, facts["phases"])
            out.append(f"{name:<32}{shown(period and period * 1e3, ' ms'):>16}{shown(window and window * 1e3, ' ms', 0):>12}")
    windows = {name: window_of(rows, name, facts["phases"]) for name in POWERS}
    period = update_period(rows, "energy")
    out.append(f"{'energy counter':<32}{shown(period and period * 1e3, ' ms'):>16}")
    out += ["", "Energy: each power reading integrated, with what its measured window tells after the phase, beside the counter", f"{'phase':<8}{'s':>8}{'counter J':>12}" + "".join(f"{name + ' J':>12}{'off':>9}" for name in POWERS)]
    for phase in facts["phases"]:
        if phase["name"] in ("idle", "duty"):
            begin, end = phase["begin"], phase["end"]
            truth = counted(rows, begin, end)
            line = f"{phase['name']:<8}{end - begin:>8.1f}{shown(truth):>12}"
            for name in POWERS:
                joules = integral(rows, name, begin, end, windows[name])
                line += f"{shown(joules):>12}{shown((joules / truth - 1) * 100 if joules and truth else None, ' %'):>9}"
            out.append(line)
            for channel, joules in recorded(joulery, recording, facts["uuid"], begin, end).items():
                out.append(f"    joulery's recording, {channel}: {joules:.1f} J{shown((joules / truth - 1) * 100 if truth else None, ' %'):>9}")
    out += ["", f"{'call':<52}{'median us':>10}{'90 % us':>10}"]
    out += [f"{name:<52}{shown(of and of[0]):>10}{shown(of and of[1]):>10}" for name, of in facts["calls"].items()]
    return "\n".join(out) + "\n"
