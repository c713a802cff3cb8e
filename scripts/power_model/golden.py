"""Writes what the Python side says of a few dozen made-up machines, for the check of the C++ side against it."""
import csv
from dataclasses import astuple, fields

from .machine import Identity, Tables, node

INTEL, AMD = "GenuineIntel", "AuthenticAMD"
WIDE = [
    ("Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz", INTEL, 6, 62, 4, 2, 20, 40, 64.0),
    ("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", INTEL, 6, 45, 7, 2, 16, 32, 32.0),
    ("Intel(R) Xeon(R) CPU X5670 @ 2.93GHz", INTEL, 6, 44, 2, 2, 12, 24, 12.0),
    ("Intel(R) Xeon(R) CPU E3-1240 v3 @ 3.40GHz", INTEL, 6, 60, 3, 1, 4, 8, 16.0),
    ("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", INTEL, 6, 106, 6, 2, 64, 128, 256.0),
    ("Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz", INTEL, 6, 85, 7, 4, 112, 224, 768.0),
    ("Intel(R) Xeon(R) Platinum 8380HL CPU @ 2.90GHz", INTEL, 6, 85, 11, 8, 224, 448, 1536.0),
    ("Intel(R) Xeon(R) Platinum 8490H", INTEL, 6, 143, 8, 2, 120, 240, 512.0),
    ("Intel(R) Xeon(R) Platinum 8592+", INTEL, 6, 207, 2, 2, 128, 256, 1024.0),
    ("AMD EPYC 7742 64-Core Processor", AMD, 23, 49, 0, 2, 128, 256, 256.0),
    ("AMD EPYC 7763 64-Core Processor", AMD, 25, 1, 1, 1, 64, 128, 128.0),
    ("AMD EPYC 9654 96-Core Processor", AMD, 25, 17, 1, 2, 192, 384, 768.0),
    ("AMD EPYC 9755 128-Core Processor", AMD, 26, 2, 1, 2, 256, 512, 1536.0),
    ("AMD EPYC 8024P 8-Core Processor", AMD, 25, 160, 2, 1, 8, 16, 64.0),
    ("AMD Ryzen 9 7950X 16-Core Processor", AMD, 25, 97, 2, 1, 16, 32, 64.0),
    ("AMD Ryzen Threadripper 1950X 16-Core Processor", AMD, 23, 1, 1, 1, 16, 32, 64.0),
    ("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", INTEL, 6, 158, 10, 1, 6, 12, 32.0),
    ("13th Gen Intel(R) Core(TM) i9-13900K", INTEL, 6, 183, 1, 1, 24, 32, 64.0),
    ("AMD Opteron(tm) Processor 6276", AMD, 21, 1, 2, 2, 32, 32, 64.0),
    ("Dual-Core AMD Opteron(tm) Processor 2216 HE", AMD, 15, 65, 3, 2, 4, 4, 8.0),
    ("foobar", "", 0, 0, 0, 1, 8, 16, 32.0),
    ("", "", 0, 0, 0, 0, 0, 0, 0.0),
    ("Neoverse-N1", "ARM", 0, 0, 0, 1, 80, 80, 256.0),
    ("Intel(R) Xeon(R) Processor", INTEL, 6, 207, 2, 2, 96, 192, 512.0),
]


def identities():
    for row in WIDE:
        yield Identity(*row)
    yield Identity("foobar", "", 0, 0, 0, 1, 8, 16, 32.0, tdp=150.0)
    yield Identity(*WIDE[9], tdp=200.0)
    yield Identity(*WIDE[4], idle=180.0, full=620.0)
    yield Identity(*WIDE[4], idle=180.0, half=390.0, full=620.0)
    yield Identity(*WIDE[11], idle=210.0, full=1050.0)
    yield Identity(*WIDE[20], idle=20.0, half=70.0, full=95.0)
    yield Identity(*WIDE[20], idle=20.0, half=21.0, full=95.0)
    yield Identity("Intel(R) Xeon(R) Processor", INTEL, 6, 207, 2, 1, 2, 2, 24.0, virtual=True)
    yield Identity("AMD EPYC 7R32", AMD, 23, 49, 0, 1, 4, 8, 16.0, virtual=True)
    yield Identity("AMD EPYC Processor", AMD, 25, 1, 1, 1, 48, 96, 384.0, virtual=True)
    yield Identity("QEMU Virtual CPU version 2.5+", INTEL, 6, 6, 3, 1, 4, 4, 8.0, virtual=True)
    yield Identity("Intel(R) Xeon(R) CPU @ 2.20GHz", INTEL, 6, 79, 0, 1, 1, 2, 4.0, virtual=True)
    yield Identity("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", INTEL, 6, 85, 7, 2, 400, 800, 999.0, virtual=True)
    yield Identity("AMD EPYC 7R32", AMD, 23, 49, 0, 1, 1, 2, 64.0, virtual=True)  # more memory than its share of the host's
    yield Identity("AMD EPYC 7R32", AMD, 23, 49, 0, 1, 4, 8, 16.0, virtual=True, idle=120.0, full=450.0)
    yield Identity("AMD EPYC 7R32", AMD, 23, 49, 0, 1, 4, 8, 0.0, virtual=True, idle=20.0, half=90.0, full=450.0)  # idle below the memory


def write(path, model):
    tables = Tables(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Written by scripts/learn_power_model --write from data/power_model.csv by its own Python rules; no machine here\n"
                "# is a measured one. Watts, low and high at utilisation 0, 10 .. 100 %.\n")
        out = csv.writer(f, lineterminator="\n")
        out.writerow([x.name for x in fields(Identity)] + ["mode"] + [f"{k}{u}" for k in ("w", "low", "high") for u in range(0, 101, 10)])
        for i in identities():
            mode, watts = node(tables, i)
            out.writerow([int(v) if isinstance(v, bool) else v for v in astuple(i)] + [mode] + [f"{v:.5f}" for v in watts.T.ravel()])
