#!/usr/bin/env python3
"""bench/trace_reading.py [TRACE]: how fast and in how much memory `joulery profile` reads a Kineto trace of 1 GB, made by repeating TRACE;
beside it, in the same run, Python's json and HolisticTraceAnalysis (where the interpreter of $JOULERY_TEST_PYTHON or .venv has it).

TRACE: a Kineto JSON, packed or not; without one the largest in ../shared/data/profiles/kineto.
"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZE = int(os.environ.get("PROFILE_BENCH_BYTES", 1_000_000_000))


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


def line(name, size, result, errors):
    if result is None:
        print(f"{name:36} -- {errors[0][:80]}")
        return
    wall, cpu, memory = result
    print(f"{name:36} {wall:7.2f} s {cpu:7.2f} CPU s {size / cpu / 1e6:8.0f} MB/CPU s {memory:7.0f} MB peak ({memory * 1e6 / size:.2f} of the file)")


def main():
    found = sorted((ROOT / ".." / "shared" / "data" / "profiles" / "kineto").glob("*.json.gz"), key=lambda p: p.stat().st_size)
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else (found[-1] if found else None)
    if source is None:
        sys.exit("bench/trace_reading.py: no trace: name one")
    joulery = os.environ.get("JOULERY", ROOT / "build" / "release" / "joulery")
    python = os.environ.get("JOULERY_TEST_PYTHON", ROOT / ".venv" / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "rank-0.json"
        count = repeated(source, trace)
        size = trace.stat().st_size
        print(f"{source.name} x {count}: {size / 1e6:.0f} MB")
        line("joulery profile", size, *measured(joulery, "profile", trace, "--json"))
        line("joulery profile -o copy.json", size, *measured(joulery, "profile", trace, "-o", pathlib.Path(folder) / "copy.json"))
        line("Python's json.load", size, *measured(sys.executable, "-c", f"import json; json.load(open({str(trace)!r}))"))
        code = ("from hta.common.trace import parse_trace_file as parse\n" f"parse({str(trace)!r})")
        line("HolisticTraceAnalysis' parser", size, *measured(python, "-c", code))


if __name__ == "__main__":
    main()
