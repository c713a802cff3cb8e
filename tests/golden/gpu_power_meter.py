#!/usr/bin/python3
"""The energy that an external meter showed beside seven logs of nvidia-smi, computed apart from the product: what
tests/unit/app/gpu_power_test.cpp expects.

For each folder of JimZeyuYang/GPU_Power_Benchmark's data given: the meter's joules over the load, and how far the plain trapezoid
of each power column is from it, as read and shifted by half a window.

PMD_data.bin holds records of nine little-endian 16-bit words: ticks (2,933.5 a millisecond) and four pairs of voltage and current,
12 bits each, 0.007568 V and 0.0488 A a step; the first record is 50 ms before PMD_start_ts.txt (microseconds since 1970).

Usage: gpu_power_meter.py FOLDER...
"""
import csv
import datetime
import pathlib
import struct
import sys


def meter(folder):
    data = (folder / "PMD_data.bin").read_bytes()
    begin = int((folder / "PMD_start_ts.txt").read_text()) / 1e6 - 0.05
    times, watts, ticks, before = [], [], 0, None
    for record in struct.iter_unpack("<9H", data[:len(data) // 18 * 18]):
        ticks += 0 if before is None else (record[0] - before) & 0xffff
        before = record[0]
        steps = [word >> 4 for word in record[1:]]
        steps = [0 if step >= 2048 else step for step in steps]     # two's complement: below zero counts as 0
        times.append(begin + ticks / 2933.5 / 1e3)
        watts.append(sum(steps[i] * 0.007568 * steps[i + 1] * 0.0488 for i in range(0, 8, 2)))
    return times, watts


def log(folder):
    with open(folder / "gpudata.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    zone = datetime.timezone(datetime.timedelta(hours=1))
    times = [datetime.datetime.strptime(r[0], "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=zone).timestamp() for r in rows[1:]]
    return times, {name: [float(r[i]) for r in rows[1:]] for i, name in enumerate(rows[0]) if name.startswith("power")}


def integral(times, watts, begin, end):
    joules = 0.0
    for t0, t1, w0, w1 in zip(times, times[1:], watts, watts[1:]):
        lo, hi = max(begin, t0), min(end, t1)
        if hi > lo:
            at = [w0 + (w1 - w0) * (t - t0) / (t1 - t0) for t in (lo, hi)]
            joules += sum(at) / 2 * (hi - lo)
    return joules


for name in sys.argv[1:]:
    where = pathlib.Path(name)
    marks = [int(line) / 1e6 for line in (where / "timestamps.csv").read_text().split()[1:]]
    truth = integral(*meter(where), marks[0], marks[-1])
    print(f"{where.name}: {truth:.2f} J over {marks[-1] - marks[0]:.3f} s")
    when, columns = log(where)
    for column, power in columns.items():
        errors = [integral([t - shift for t in when], power, marks[0], marks[-1]) / truth * 100 - 100 for shift in (0, 0.05, 0.5)]
        print(f"  {column}: {errors[0]:+.2f} % as read, {errors[1]:+.2f} % shifted by 50 ms, {errors[2]:+.2f} % by 500 ms")
