"""emissions.csv with the columns of CodeCarbon 3, in its order. What is not known stays empty, never 0."""

import csv
import os
import time

COLUMNS = (
    "timestamp", "project_name", "run_id", "experiment_id", "duration", "emissions", "emissions_rate", "cpu_power", "gpu_power", "ram_power",
    "cpu_energy", "gpu_energy", "ram_energy", "energy_consumed", "water_consumed", "country_name", "country_iso_code", "region",
    "cloud_provider", "cloud_region", "os", "python_version", "codecarbon_version", "cpu_count", "cpu_model", "gpu_count", "gpu_model",
    "longitude", "latitude", "ram_total_size", "tracking_mode", "cpu_utilization_percent", "gpu_utilization_percent",
    "ram_utilization_percent", "ram_used_gb", "on_cloud", "pue", "wue",
)
TASK_COLUMNS = ("task_name", *(name for name in COLUMNS if name not in ("experiment_id", "pue", "wue")))


def _row(data, columns):
    return {name: "" if data.get(name) is None else data[name] for name in columns}


def _rows_of(path):
    """The rows of a file with these columns in any order; None where it has others, or is empty, or is not there."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if sorted(reader.fieldnames or ()) != sorted(COLUMNS):
                return None
            return list(reader.fieldnames), list(reader)
    except FileNotFoundError:
        return None


def _set_aside(path):
    """Keeps a file of other columns under a name of its own, as CodeCarbon does."""
    if os.path.exists(path) and os.path.getsize(path) > 0:
        stem = f"{path}_{time.strftime('%Y%m%d%H%M%S')}"
        os.replace(path, next(name for name in (f"{stem}{n or ''}.bak" for n in range(1000)) if not os.path.exists(name)))


def _write(path, columns, rows):
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(temporary, path)


def write(path, data, mode="append"):
    """Adds a run to the file, or with "update" puts it in the place of the row of the same run_id."""
    there = _rows_of(path)
    if there is None:
        _set_aside(path)
        _write(path, COLUMNS, [_row(data, COLUMNS)])
        return
    columns, rows = there
    if mode == "update":
        same = [row for row in rows if row["run_id"] == data["run_id"]]
        if len(same) == 1:
            rows = [row for row in rows if row["run_id"] != data["run_id"]]
        _write(path, columns, [*rows, _row(data, columns)])
        return
    with open(path, "a", newline="", encoding="utf-8") as file:
        csv.DictWriter(file, columns, lineterminator="\n").writerow(_row(data, columns))


def write_tasks(path, tasks):
    """One row a task, as CodeCarbon's emissions_EXPERIMENT_RUN.csv."""
    _write(path, TASK_COLUMNS, [_row(task, TASK_COLUMNS) for task in tasks])
