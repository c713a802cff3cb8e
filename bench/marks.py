#!/usr/bin/python3
"""What a pair of marks (begin and end of a step) costs the marked program: runs marks_bench and judges two of its rows."""
import os
import re
import subprocess
import sys

import stage

LIMITS = [(r"^C\+\+: joulery::Step step\(64\)", "a mark pair from C++", 80.0),
          (r"^Python \S+: with joulery\.step\(samples=64\)  ", "a mark pair from Python", 400.0)]


def main():
    program = str(stage.BUILD / "bench" / "marks_bench")
    stage.need(program)
    stage.home()
    environment = {**os.environ, "PYTHONPATH": str(stage.BUILD / "python")}
    done = subprocess.run([program, "/usr/bin/python3", "bench/marks_bench.py"], capture_output=True, text=True, cwd=stage.ROOT, env=environment)
    print("\nMarks: nanoseconds of a pair, and as a multiple of reading the clock twice\n\n```\n" + done.stdout.rstrip() + "\n```", flush=True)
    if done.returncode:
        sys.exit(done.stderr)
    results = []
    for pattern, what, limit in LIMITS:
        line = next((text for text in done.stdout.splitlines() if re.search(pattern, text)), None)
        if line:
            ns = float(line.split()[-2])
            results.append(stage.result(what + ", median", f"{ns:.1f} ns", f"<= {limit:g} ns", ns <= limit))
        else:
            results.append(stage.result(what + ", median", "did not run", f"<= {limit:g} ns", False))
    stage.tell(results)


if __name__ == "__main__":
    main()
