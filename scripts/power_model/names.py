"""Processor names: the plain form, the family behind it, and the thermal design power (TDP) by name."""
import csv
import re
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"

CUTS = ["@", "[", "with radeon", "dell sku"]  # what follows is not the model
MARKS = ["(r)", "(tm)", "®", "™", ","]
# Words that say nothing of the model; a lone "0" is the version field of older Xeon names.
WORDS = re.compile(r"(processor|cpu|intel|amd|0|\d+th|gen|(\d+|dual|quad|six|eight|twelve)-cores?)\Z")


def plain(name):
    """'Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz' -> 'xeone5-2660v2'."""
    name = name.lower()
    for mark in MARKS:
        name = name.replace(mark, " ")
    for cut in CUTS:
        name = name.split(cut)[0]
    return "".join(word for word in name.split() if not WORDS.match(word))


def _rows(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def _regex(pattern):
    parts = {"#": "[0-9]", "?": ".", "*": ".*"}
    return re.compile("".join(parts.get(c, re.escape(c)) for c in pattern) + r"\Z")


class Families:
    """The family table: the first pattern that matches the plain name counts."""

    def __init__(self, path=DATA / "cpu_families.csv"):
        self.rules = [(_regex(r["pattern"]), r["family"], int(r["year"]), int(r["class"])) for r in _rows(path)]

    def of(self, plain_name):
        for regex, family, year, market in self.rules:
            if regex.match(plain_name):
                return family, year, market
        return None


def read_tdp(path):
    """CodeCarbon's cpu_power.csv (Name,TDP) by plain name; names that say nothing and rubbish values are left out."""
    table = {}
    for row in _rows(path):
        key = plain(row["Name"])
        try:
            tdp = float(row["TDP"])
        except ValueError:
            continue
        if len(key) >= 4 and re.search(r"\d", key) and 2 <= tdp <= 1000:
            table.setdefault(key, tdp)
    return table


TDP_SOURCE = """\
# Thermal design power (watts per chip) by plain name. From CodeCarbon's cpu_power.csv (MIT licence, see NOTICE), with the
# names made plain by scripts/learn_power_model, which wrote this file; do not edit.
name,tdp
"""


def write_tdp(path, table):
    with open(path, "w", encoding="utf-8") as f:
        f.write(TDP_SOURCE)
        for name, tdp in sorted(table.items()):
            f.write(f"{name},{tdp:g}\n")
