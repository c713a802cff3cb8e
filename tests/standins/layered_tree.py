#!/usr/bin/python3
"""A machine of plain files for `joulery --sysroot DIR` with three layers that really move: a RAPL package whose load goes
up and down, and two ACPI power meters that follow it late, as meters behind a controller do.

    package   what the load says, watts, counted as energy
    node      power_meter: `node_fixed` W + package, `node_late` seconds late
    second    a second power_meter: `wall_fixed` W + node / `efficiency`, `wall_late` seconds late. hwmon gives no wall, so
              a test that wants one names this meter `wall` in the recording.

The load is a staircase of lengths and heights that do not repeat. Invariant: every figure is a function of the time since
the start; files keep their length, so that a reader which holds one open never sees a torn value.
"""
import os
import random
import threading
import time


class LayeredTree:
    def __init__(self, root, node_fixed=30.0, node_late=0.2, wall_fixed=15.0, efficiency=0.9, wall_late=0.45, board="Maker Board 1",
                 seed=4):
        self.root, self.node_fixed, self.node_late = str(root), node_fixed, node_late
        self.wall_fixed, self.efficiency, self.wall_late = wall_fixed, efficiency, wall_late
        source = random.Random(seed)
        self.edges, at = [], -10.0
        while at < 600:
            self.edges.append((at, source.choice([20, 45, 70, 95, 120]) + source.random() * 20))
            at += 0.15 + source.random() * 0.6
        self.energy_file = self.write("sys/class/powercap/intel-rapl:0/energy_uj", "0" * 12 + "\n")
        for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("enabled", "1")):
            self.write(f"sys/class/powercap/intel-rapl:0/{name}", text + "\n")
        self.power_files = []
        for number in (0, 1):
            folder = f"sys/class/hwmon/hwmon{number}"
            self.write(f"{folder}/name", "power_meter\n")
            self.power_files.append(self.write(f"{folder}/power1_average", "0" * 10 + "\n"))
        maker, product = board.split(" ", 1)
        self.write("sys/class/dmi/id/sys_vendor", maker + "\n")
        self.write("sys/class/dmi/id/product_name", product + "\n")
        for name in ("stat", "meminfo", "cpuinfo"):
            with open(os.path.join("/proc", name), encoding="utf-8") as file:
                self.write(f"proc/{name}", file.read().replace(" hypervisor", ""))
        self.joules, self.last = 0.0, 0.0
        self.stopping, self.started = threading.Event(), time.monotonic()
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.advance(0.0)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        file = os.open(full, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.pwrite(file, text.encode(), 0)
        return file

    def package(self, t):
        watts = self.edges[0][1]
        for at, height in self.edges:
            if at > t:
                break
            watts = height
        return watts

    def package_joules(self, begin, end):
        """The exact integral of the staircase."""
        joules, at = 0.0, begin
        for edge, _ in self.edges:
            if begin < edge < end:
                joules += self.package(at) * (edge - at)
                at = edge
        return joules + self.package(at) * (end - at)

    def node(self, t):
        return self.node_fixed + self.package(t - self.node_late)

    def wall(self, t):
        return self.wall_fixed + (self.node_fixed + self.package(t - self.wall_late)) / self.efficiency

    def advance(self, t):
        self.joules += self.package_joules(self.last, t)
        self.last = t
        os.pwrite(self.energy_file, b"%012d\n" % int(1e11 + self.joules * 1e6), 0)
        for file, watts in zip(self.power_files, (self.node(t), self.wall(t))):
            os.pwrite(file, b"%010d\n" % int(watts * 1e6), 0)

    def play(self):
        while not self.stopping.wait(0.002):
            self.advance(time.monotonic() - self.started)

    def __enter__(self):
        self.started = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
