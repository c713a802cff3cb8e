#!/usr/bin/python3
"""A machine made of plain files for `joulery --sysroot DIR`: RAPL zones whose counters really advance, and which fall
ill by script.

    scripted_tree.py ROOT [--alone] [ZONE...] [-- STEP...]        e.g.
    scripted_tree.py /tmp/m intel-rapl:0=package-0,20 intel-rapl:0:0=dram,3 -- 1.0:intel-rapl:0:rubbish 1.5:intel-rapl:0:heal

A zone burns a constant number of watts, so its true energy over any time is a multiplication. A step names the
moment (seconds after start), the zone and what happens to it:

    rubbish   the file holds text that is no number       stuck     the file keeps its last value; the zone burns on
    empty     the file holds nothing                      fall=J    the counter loses J joules and goes on from there
    remove    the zone's folder disappears                jump=J    the counter gains J joules that nobody burnt
    heal      back to normal: the counter tells the whole truth again, as if it had counted on (a folder comes back)

Invariant: files are rewritten in place with the same length (counters start at 100 kJ and so keep their 12 digits),
so that a reader which holds a file open sees whole values, never a torn or stale one.
"""
import os
import shutil
import sys
import threading
import time

RANGE_UJ = 262143328850
START_UJ = 100_000_000_000


class Zone:
    def __init__(self, root, zone, name, watts, range_uj=RANGE_UJ, start_uj=START_UJ):
        parts = zone.split(":")
        folders = [":".join(parts[:n]) for n in range(2, len(parts) + 1)]  # a child lives in its parent's folder
        self.base = os.path.join(root, "sys/devices/virtual/powercap/intel-rapl")
        self.real = os.path.join(self.base, *folders)
        self.link = os.path.join(root, "sys/class/powercap", zone)
        self.zone, self.name, self.watts, self.range_uj, self.start_uj = zone, name, watts, range_uj, start_uj
        self.state, self.offset_uj = "healthy", 0
        self.create()

    def create(self):
        os.makedirs(self.real, exist_ok=True)
        for folder, name, text in ((self.base, "enabled", "1"), (self.real, "enabled", "1"), (self.real, "name", self.name),
                                   (self.real, "max_energy_range_uj", str(self.range_uj))):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
        if not os.path.lexists(os.path.join(self.base, "subsystem")):
            os.symlink("../../../../class/powercap", os.path.join(self.base, "subsystem"))
        self.file = os.open(os.path.join(self.real, "energy_uj"), os.O_RDWR | os.O_CREAT, 0o644)
        if not os.path.lexists(self.link):
            os.makedirs(os.path.dirname(self.link), exist_ok=True)
            os.symlink(os.path.relpath(self.real, os.path.dirname(self.link)), self.link)

    def true_joules(self, seconds):
        return self.watts * seconds

    def write(self, seconds):
        """Shows what the counter says `seconds` after the start."""
        if self.state in ("stuck", "remove", "empty"):
            return
        if self.state == "rubbish":
            os.pwrite(self.file, b"~~ no digit\n\n", 0)
            return
        value = int(self.start_uj + self.true_joules(seconds) * 1e6 + self.offset_uj) % (self.range_uj + 1)
        os.pwrite(self.file, b"%012d\n" % value, 0)

    def happen(self, what):
        action, _, joules = what.partition("=")
        if action == "fall":
            self.offset_uj -= int(float(joules) * 1e6)
        elif action == "jump":
            self.offset_uj += int(float(joules) * 1e6)
        elif action in ("rubbish", "stuck", "empty", "remove", "heal"):
            self.change_state(action)
        else:
            raise ValueError(f"unknown step {what!r}")

    def change_state(self, action):
        if action == "heal" and self.state == "remove":
            self.create()
        if action in ("empty", "remove"):
            os.ftruncate(self.file, 0)  # a reader that holds the file open sees the end of it, as a lost device gives none
        if action == "remove":
            os.close(self.file)
            os.unlink(self.link)
            shutil.rmtree(self.real)
        self.state = "healthy" if action == "heal" else action


class ScriptedTree:
    """`with ScriptedTree(root, zones, steps):` keeps the counters moving on a thread; `started` is monotonic."""

    def __init__(self, root, zones, steps=(), period_s=0.002, range_uj=RANGE_UJ, start_uj=START_UJ, alone=False):
        os.makedirs(os.path.join(root, "sys/devices/system"), exist_ok=True)
        # The rest of the machine is this one, or is not there: then the zones stand alone.
        for path in () if alone else ("proc", "sys/devices/system/cpu", "sys/fs/cgroup"):
            link = os.path.join(root, path)
            if not os.path.lexists(link) and os.path.exists("/" + path):
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink("/" + path, link)
        self.root, self.period_s = root, period_s
        self.zones = {zone: Zone(root, zone, name, watts, range_uj, start_uj) for zone, name, watts in zones}
        self.steps = sorted(steps)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.started = time.monotonic()
        self.advance(0.0)

    def advance(self, seconds):
        while self.steps and self.steps[0][0] <= seconds:
            _, zone, what = self.steps.pop(0)
            self.zones[zone].happen(what)
        for zone in self.zones.values():
            zone.write(seconds)

    def play(self):
        while not self.stopping.wait(self.period_s):
            self.advance(time.monotonic() - self.started)

    def __enter__(self):
        self.started = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


def main(words):
    if len(words) < 2:
        sys.exit(__doc__)
    split = words.index("--") if "--" in words else len(words)
    zones = []
    alone = "--alone" in words[:split]
    for word in [word for word in words[1:split] if word != "--alone"]:
        zone, _, rest = word.partition("=")
        name, _, watts = rest.partition(",")
        zones.append((zone, name, float(watts)))
    steps = []
    for word in words[split + 1:]:
        at, _, rest = word.partition(":")
        zone, _, what = rest.rpartition(":")
        steps.append((float(at), zone, what))
    with ScriptedTree(words[0], zones, steps, alone=alone) as tree:
        print(f"counters move in {tree.root} until interrupted", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main(sys.argv[1:])
