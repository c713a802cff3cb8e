"""Keeps CPUs busy for a while: a load that is the same from start to end, for trying out meters.

    joulery run -- python3 examples/load.py --seconds 10 --threads 1

It runs in processes, not threads, so that Python's lock does not get in the way, and prints the CPU time it used.
"""
import argparse
import multiprocessing
import time


def burn(seconds):
    """Computes until `seconds` of monotonic time have passed; returns the CPU seconds that it took."""
    end = time.monotonic() + seconds
    value = 0x9E3779B97F4A7C15
    while time.monotonic() < end:
        for _ in range(10_000):                                          # about a millisecond between looks at the clock
            value = (value * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    return time.process_time()


def main():
    parser = argparse.ArgumentParser(description="Keep CPUs busy for a while.")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--threads", type=int, default=1, help="how many CPUs (default: 1)")
    options = parser.parse_args()
    with multiprocessing.Pool(options.threads) as pool:
        used = sum(pool.map(burn, [options.seconds] * options.threads, chunksize=1))
    print(f"busy for {options.seconds:g} s on {options.threads}: {used:.3f} s of CPU time")


if __name__ == "__main__":
    main()
