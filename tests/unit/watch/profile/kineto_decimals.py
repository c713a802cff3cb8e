"""Prints "begin duration" in nanoseconds of each complete event of a Kineto trace, by Python's decimals: an independent reader."""
import decimal
import gzip
import json
import sys

decimal.getcontext().prec = 60
path = sys.argv[1]
with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
    trace = json.load(file, parse_float=decimal.Decimal)
base = trace.get("baseTimeNanoseconds", 0)


def ns(microseconds):
    whole = (decimal.Decimal(microseconds) * 1000).quantize(decimal.Decimal(1), rounding=decimal.ROUND_HALF_UP)
    return int(whole)


for event in trace["traceEvents"]:
    if event.get("ph") == "X" and event["pid"] not in ("Spans", "Traces"):
        print(base + ns(event["ts"]), ns(event.get("dur", 0)))
