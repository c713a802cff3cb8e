"""What the model sees of a machine. Everything here is known on a running machine: nothing needs a sensor."""
import numpy as np

YEAR, CLASS, TDP, CHIPS, CORES, THREADS, MEMORY = range(7)
YEAR_LOW, YEAR_HIGH = 2006, 2022  # the years of the systems whose whole curve is known: no line is drawn beyond them

SMOOTH = ["log_tdp", "log_chips", "log_cores_per_chip", "log2_threads_per_core", "log_memory", "year"]
TREES = ["log_tdp", "log_chips", "log_cores_per_chip", "threads_per_core", "log_memory", "year", "log_tdp_per_core",
         "log_memory_per_core", "log_memory_per_chip", "log_tdp_total", "class"]
SHAPE = ["one", "log_idle_ratio", "log_full_per_tdp", "year", "log_cores_per_chip", "log_chips", "threads_per_core",
         "log_tdp", "log_memory"]


def columns(known):
    """Named columns from rows of (year, class, tdp per chip, chips, cores, threads, memory GB)."""
    k = known
    cores_per_chip = k[:, CORES] / k[:, CHIPS]
    threads_per_core = k[:, THREADS] / k[:, CORES]
    log = np.log
    return {
        "log_tdp": log(k[:, TDP]), "log_chips": log(k[:, CHIPS]), "log_cores_per_chip": log(cores_per_chip),
        "threads_per_core": threads_per_core, "log2_threads_per_core": np.log2(threads_per_core),
        "log_memory": log(k[:, MEMORY]), "year": (np.clip(k[:, YEAR], YEAR_LOW, YEAR_HIGH) - 2010) / 5,
        "log_tdp_per_core": log(k[:, TDP] / cores_per_chip), "log_memory_per_core": log(k[:, MEMORY] / k[:, CORES]),
        "log_memory_per_chip": log(k[:, MEMORY] / k[:, CHIPS]), "log_tdp_total": log(k[:, TDP] * k[:, CHIPS]),
        "class": k[:, CLASS], "one": np.ones(len(k)),
    }


def matrix(cols, names):
    return np.column_stack([cols[n] for n in names])


def shape_matrix(cols, log_idle, log_full):
    """The columns that the curve between idle and full load depends on, each moved near zero."""
    values = dict(cols, log_idle_ratio=log_idle - log_full + 1, log_full_per_tdp=log_full - cols["log_tdp_total"] - 0.3,
                  log_cores_per_chip=cols["log_cores_per_chip"] - 2, threads_per_core=cols["threads_per_core"] - 1.5,
                  log_tdp=cols["log_tdp"] - 4.6, log_memory=cols["log_memory"] - 3.5)
    return matrix(values, SHAPE)
