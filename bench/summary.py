"""The closing table of bench/run: every target, what was seen, and the verdict. A missed target is not an error of the
bench: exit 0.

    summary.py FOLDER      with a JSON file of rows per bench
"""
import json
import pathlib
import sys

import stage


def main():
    rows = []
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        rows += [(file.stem, row) for row in json.loads(file.read_text(encoding="utf-8")) if row["target"]]
    if not rows:
        sys.exit("no bench gave a result")
    stage.table("All targets, from this one run", ["bench", "what", "seen", "target", "verdict"],
                [[name, row["what"], row["value"], row["target"], "met" if row["met"] else "MISSED"] for name, row in rows])
    met = sum(bool(row["met"]) for _, row in rows)
    print(f"\n{met} of {len(rows)} targets met")


if __name__ == "__main__":
    main()
