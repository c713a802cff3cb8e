#!/usr/bin/env python3
"""bench/trace_reading.py [TRACE]: how fast and in how much memory `joulery profile` reads a Kineto trace of 1 GB, made by repeating TRACE;
beside it, in the same run, Python's json and HolisticTraceAnalysis (where the interpreter of $JOULERY_TEST_PYTHON or .venv has it). Then the same
for an xplane.pb of TensorFlow's, made here and repeated likewise, beside TensorFlow's own protobuf messages and XProf.

TRACE: a Kineto JSON, packed or not; without one the largest in ../shared/data/profiles/kineto.
"""
import concurrent.futures
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import stage

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPEED_LIMIT, MEMORY_LIMIT = 400, 0.2
SIZE = int(os.environ.get("PROFILE_BENCH_BYTES", 1_000_000_000))
XPLANE_SIZE = int(os.environ.get("PROFILE_BENCH_XPLANE_BYTES", 100_000_000))

# Profiles a small training, and writes it to argv[1] with the events of each line repeated, one round behind the other, until they have argv[2]
# bytes; the profile itself beside it, to argv[3].
MAKE_XPLANE = """
import glob, shutil, sys, tempfile
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2
folder = tempfile.mkdtemp()
model = tf.keras.Sequential([tf.keras.Input((28, 28, 1)), tf.keras.layers.Conv2D(8, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile("sgd", "mse")
x, y = tf.random.uniform((64, 28, 28, 1)), tf.random.uniform((64, 10))
model.train_on_batch(x, y)
tf.profiler.experimental.start(folder)
for step in range(20):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        model.train_on_batch(x, y)
tf.profiler.experimental.stop()
(file,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
shutil.copy(file, sys.argv[3])
space = xplane_pb2.XSpace.FromString(open(file, "rb").read())
shutil.rmtree(folder)
rounds = int(sys.argv[2]) // sum(line.ByteSize() for plane in space.planes for line in plane.lines)
for plane in space.planes:
    for line in plane.lines:
        events = list(line.events)
        span = max((event.offset_ps + event.duration_ps for event in events), default=0) + 1000
        for number in range(1, rounds):
            for event in events:
                again = line.events.add()
                again.CopyFrom(event)
                again.offset_ps += number * span
open(sys.argv[1], "wb").write(space.SerializeToString())
"""
PROTOBUF = ("import sys\nfrom tensorflow.tsl.profiler.protobuf import xplane_pb2\n"
            "xplane_pb2.XSpace().ParseFromString(open(sys.argv[1], 'rb').read())")
XPROF = ("import sys\nfrom xprof.convert import raw_to_tool_data\n"
         "raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'framework_op_stats', {})")


def repeated(source, target):
    """Writes the trace with its events repeated until it has SIZE bytes; returns how often."""
    text = (gzip.open if source.suffix == ".gz" else open)(source, "rb").read()
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = text.rindex(b"]")
    events = text[begin:end].strip()
    count = max(1, SIZE // len(events))
    with open(target, "wb") as file:
        file.write(text[:begin])
        for i in range(count):
            file.write(b",\n" + events if i else events)
        file.write(text[end:])
    return count


def measured(*words):
    """Wall seconds, CPU seconds and peak memory (MB) of a command; None where it fails."""
    before = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        return None, errors.strip().splitlines()[-1:] or ["failed"]
    return (time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), []


def cells(name, size, result, errors):
    if result is None:
        return [name, errors[0][:60], "", "", "", ""]
    wall, cpu, memory = result
    return [name, f"{wall:.2f}", f"{cpu:.2f}", f"{size / cpu / 1e6:.0f}", f"{memory:.0f}", f"{memory * 1e6 / size:.2f}"]


def beyond_start(python, code, small, large):
    """measured() of `code` on `large`, without what it takes on `small`: most of that is imports."""
    start, errors = measured(python, "-c", code, small)
    whole, errors = measured(python, "-c", code, large) if start else (None, errors)
    return ((whole[0] - start[0], max(whole[1] - start[1], 1e-3), whole[2] - start[2]), []) if whole else (None, errors)


def xplane(python, folder):
    """The table of an xplane.pb, where the interpreter has TensorFlow."""
    small, large = folder / "small" / "host.xplane.pb", folder / "large" / "host.xplane.pb"
    for file in (small, large):        # XProf keeps what it found out beside a file, by the folder
        file.parent.mkdir()
    made, errors = measured(python, "-c", MAKE_XPLANE, large, XPLANE_SIZE, small)
    if made is None:
        print(f"no xplane.pb: {errors[0][:80]}")
        return
    size = large.stat().st_size
    results = {"joulery profile": measured(stage.JOULERY, "profile", large, "--json"),
               "TensorFlow's protobuf, without its imports": beyond_start(python, PROTOBUF, small, large),
               "XProf's op stats, without its imports": beyond_start(python, XPROF, small, large)}
    stage.table(f"An xplane.pb of {size / 1e6:.0f} MB (a small training, repeated)",
                ["reader", "wall s", "CPU s", "MB a CPU s", "peak MB", "of the file"], [cells(name, size, *result) for name, result in results.items()])


def main():
    found = sorted((ROOT / ".." / "shared" / "data" / "profiles" / "kineto").glob("*.json.gz"), key=lambda p: p.stat().st_size)
    named = [word for word in sys.argv[1:] if not word.startswith("--")] if "--json" not in sys.argv else []
    source = pathlib.Path(named[0]) if named else (found[-1] if found else None)
    if source is None:
        print("bench/trace_reading.py: no trace: name one")
        return stage.tell([])
    python = os.environ.get("JOULERY_TEST_PYTHON", ROOT / ".venv" / "bin" / "python")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        trace = pathlib.Path(folder) / "rank-0.json"
        with concurrent.futures.ProcessPoolExecutor(1) as apart:   # a child's peak memory counts from its parent's
            count = apart.submit(repeated, source, trace).result()
        size = trace.stat().st_size
        hta = ("from hta.common.trace_parser import parse_trace_dataframe as parse\nfrom hta.configs.parser_config import ParserConfig\n"
               f"parse({str(trace)!r}, ParserConfig.get_default_cfg())")
        commands = {"joulery profile": [stage.JOULERY, "profile", trace, "--json"],
                    "joulery profile -o copy.json": [stage.JOULERY, "profile", trace, "-o", pathlib.Path(folder) / "copy.json"],
                    "Python's json.load": [sys.executable, "-c", f"import json; json.load(open({str(trace)!r}))"],
                    "HolisticTraceAnalysis' parser": [python, "-c", hta]}
        results = {name: measured(*words) for name, words in commands.items()}
        trace.unlink()
        (pathlib.Path(folder) / "copy.json").unlink(missing_ok=True)
        xplane(python, pathlib.Path(folder))
    stage.table(f"A Kineto trace of {size / 1e6:.0f} MB ({source.name}, {count} times)",
                ["reader", "wall s", "CPU s", "MB a CPU s", "peak MB", "of the file"], [cells(name, size, *result) for name, result in results.items()])
    wall, cpu, memory = results["joulery profile"][0]
    speed, share = size / cpu / 1e6, memory * 1e6 / size
    return stage.tell([stage.result("MB/s of a core, a Kineto trace of 1 GB", f"{speed:.0f}", f">= {SPEED_LIMIT}", speed >= SPEED_LIMIT),
                       stage.result("memory, of the trace's size", f"{share:.2f}", f"<= {MEMORY_LIMIT:g}", share <= MEMORY_LIMIT)])


if __name__ == "__main__":
    main()
