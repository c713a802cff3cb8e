"""CodeCarbon's front on Joulery's meters: change the import, keep the rest.

    from joulery.codecarbon import EmissionsTracker, OfflineEmissionsTracker, track_emissions

    with EmissionsTracker(project_name="train") as tracker:
        train()
    print(tracker.final_emissions)   # kg CO2e, or None where the energy is not known

What CodeCarbon takes, this takes; what has no meaning here (its server, its logger, Prometheus, powers by assumption) is accepted and
said once. The carbon intensity comes from Joulery's own table, offline: of country_iso_code, region or cloud region, else of
`carbon.place` in Joulery's configuration, else the world's average. As in CodeCarbon energies, powers and emissions are multiplied by
`pue`. The joules are those of the whole machine.
"""

import enum
import functools
import json
import os
import platform
import time
import types
import uuid

from . import _emissions_csv, _joulery
from ._epochs import warn

__all__ = ["EmissionsTracker", "OfflineEmissionsTracker", "OutputMethod", "track_emissions", "track_task_emissions"]

_JOULES_PER_KWH = 3.6e6
_PARTS = {"cpu": "node/cpu", "gpu": "node/gpu", "ram": "node/dram"}
_WITHOUT_MEANING = {
    "api_call_interval", "api_endpoint", "api_key", "save_to_api", "save_to_logger", "logging_logger", "save_to_prometheus", "save_to_logfire",
    "prometheus_url", "output_handlers", "gpu_ids", "emissions_endpoint", "electricitymaps_api_token", "co2_signal_api_token",
    "force_cpu_power", "force_ram_power", "force_mode_cpu_load", "rapl_include_dram", "rapl_prefer_psys", "country_2letter_iso_code", "wue",
}
_ACCEPTED = {"experiment_name", "tracking_mode", "log_level", "logger_preamble", "allow_multiple_runs", "metadata", "output_methods"}


class OutputMethod(str, enum.Enum):
    """Where CodeCarbon can write; CSV is what is written here."""

    CSV = "csv"
    API = "api"
    LOGGER = "logger"
    PROMETHEUS = "prometheus"
    LOGFIRE = "logfire"
    BOAMPS = "boamps"


class EmissionsData(types.SimpleNamespace):
    """One run or task: the columns of emissions.csv as attributes, None where they are not known."""

    @property
    def values(self):
        return dict(vars(self))

    def toJSON(self):
        return json.dumps(self.values, sort_keys=True, indent=4)


class _Measured:
    """A session of the meters, and what it has measured in CodeCarbon's words."""

    def __init__(self, interval, name):
        self._handle = _joulery.begin_session(round(interval * 1e9), name)

    def so_far(self):
        return json.loads(_joulery.session_report(self._handle))

    def end(self):
        handle, self._handle = self._handle, None
        return json.loads(_joulery.end_session(handle))


def _part(report, path):
    """Joules of a kind of component: None where none is there, or one of them is not known."""
    rows = [row for row in report["components"] if (row["path"] + "/").startswith(path + "/") and not row["overlap"]]
    if not rows or any(row["joules"] is None for row in rows):
        return None
    return sum(row["joules"] for row in rows)


def _times(value, factor):
    return None if value is None else value * factor


class EmissionsTracker:
    """CodeCarbon's EmissionsTracker: start() and stop(), a with block, start_task() and stop_task(), flush()."""

    def __init__(self, project_name="codecarbon", measure_power_secs=15, output_dir=".", output_file="emissions.csv", save_to_file=None,
                 experiment_id=None, on_csv_write="append", pue=None, force_carbon_intensity_g_co2e_kwh=None, country_iso_code=None,
                 region=None, cloud_provider=None, cloud_region=None, **others):
        self._refuse_unknown(others)
        if on_csv_write not in ("append", "update"):
            raise ValueError(f"on_csv_write must be 'append' or 'update', not {on_csv_write!r}")
        methods = others.get("output_methods")
        self._saves = save_to_file if save_to_file is not None else methods is None or "csv" in {str(getattr(m, "value", m)) for m in methods}
        if self._saves and not os.path.isdir(output_dir):
            raise OSError(f"Folder '{output_dir}' doesn't exist !")
        self._project, self._experiment, self._experiment_name = project_name, experiment_id, others.get("experiment_name") or "base"
        self._interval = min(max(float(measure_power_secs or 15), 0.001), 0.1)  # read more often than CodeCarbon: no gap goes unseen
        self._folder, self._path, self._mode = output_dir, os.path.join(output_dir, output_file), on_csv_write
        self._place = self._factor(country_iso_code, region, cloud_provider, cloud_region)
        self._grams_per_kwh = force_carbon_intensity_g_co2e_kwh or self._place[0]
        self._pue = self._place[1] if pue is None else pue
        self._cloud = (cloud_provider or "", cloud_region or "")
        self.run_id = str(uuid.uuid4())
        self._run = self._task = None
        self._tasks = {}
        self.final_emissions = self.final_emissions_data = None

    @staticmethod
    def _refuse_unknown(others):
        for name in others:
            if name in _WITHOUT_MEANING and others[name] is not None:
                warn(f"EmissionsTracker: {name} has no meaning here")
            elif name not in _WITHOUT_MEANING and name not in _ACCEPTED:
                raise TypeError(f"EmissionsTracker() got an unexpected keyword argument {name!r}")

    @staticmethod
    def _factor(country, region, provider, cloud_region):
        if provider and cloud_region:
            return _joulery.carbon_factor(f"{provider}:{cloud_region}")
        if country and region:
            return _joulery.carbon_factor(f"{country}, {region}")
        return _joulery.carbon_factor(country)

    # The run.
    def start(self):
        if self._run is not None:
            return warn("EmissionsTracker: already started")
        self._run = _Measured(self._interval, self._project)
        return None

    def flush(self):
        """Writes the run as it is by now, and goes on. Gives kg CO2e so far, or None."""
        if self._run is None:
            return warn("EmissionsTracker: start() comes before flush()")
        data = self._data(self._run.so_far())
        self._save(data)
        return data.emissions

    def stop(self):
        """Ends the run and writes it. Gives kg CO2e, or None where the energy is not known."""
        if self._task is not None:
            self.stop_task()
        if self._run is None:
            if self._tasks and self.final_emissions is None:
                self._end_of_tasks()
            return self.final_emissions
        self.final_emissions_data = self._data(self._run.end())
        self._run = None
        self.final_emissions = self.final_emissions_data.emissions
        self._save(self.final_emissions_data)
        return self.final_emissions

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    # Tasks: measured by themselves, one at a time.
    def start_task(self, task_name=None):
        if self._task is not None:
            return warn("EmissionsTracker: a task is already under measure")
        name = task_name or str(uuid.uuid4())
        if name in self._tasks:
            name += f"_{uuid.uuid4()}"
        self._task = (name, _Measured(self._interval, name))
        return None

    def stop_task(self, task_name=None):
        """Ends the task and gives its EmissionsData."""
        if self._task is None or task_name not in (None, self._task[0]):
            return warn("EmissionsTracker: no such task to stop")
        (name, measured), self._task = self._task, None
        data = self._data(measured.end(), task_name=name)
        self._tasks[name] = data
        return data

    def _end_of_tasks(self):
        """Of a tracker that had tasks alone: their sum is the run; unknown where one of them is."""
        tasks = list(self._tasks.values())
        total = EmissionsData(**vars(tasks[0]))
        del total.task_name
        for name in ("duration", "emissions", "cpu_energy", "gpu_energy", "ram_energy", "energy_consumed"):
            values = [getattr(task, name) for task in tasks]
            setattr(total, name, None if None in values else sum(values))
        for part in (*_PARTS,):
            energy = getattr(total, f"{part}_energy")
            setattr(total, f"{part}_power", _times(energy, _JOULES_PER_KWH / total.duration) if total.duration else None)
        total.emissions_rate = total.emissions / total.duration if total.emissions is not None and total.duration else None
        self.final_emissions_data, self.final_emissions = total, total.emissions
        self._save(total)
        if self._saves:
            _emissions_csv.write_tasks(os.path.join(self._folder, f"emissions_{self._experiment_name}_{self.run_id}.csv"),
                                       [task.values for task in tasks])

    # What is told.
    def _data(self, report, **more):
        seconds, pue = report["duration_s"], self._pue
        energy = {part: _times(_part(report, path), pue) for part, path in _PARTS.items()}
        whole = _times(report["energy"]["joules"], pue)
        kwh = _times(whole, 1 / _JOULES_PER_KWH)
        emissions = _times(kwh, self._grams_per_kwh / 1000)
        _, _, name, code, alpha3, _, _ = self._place
        return EmissionsData(
            **more, timestamp=time.strftime("%Y-%m-%dT%H:%M:%S"), project_name=self._project, run_id=self.run_id,
            experiment_id=self._experiment, duration=seconds, emissions=emissions,
            emissions_rate=_times(emissions, 1 / seconds) if seconds else None,
            **{f"{part}_power": _times(joules, 1 / seconds) if seconds else None for part, joules in energy.items()},
            **{f"{part}_energy": _times(joules, 1 / _JOULES_PER_KWH) for part, joules in energy.items()},
            energy_consumed=kwh, water_consumed=None, country_name=name if alpha3 else None, country_iso_code=alpha3 or None,
            region=name if not alpha3 and code and code != "WORLD" else None,
            cloud_provider=self._cloud[0] or None, cloud_region=self._cloud[1] or None, os=platform.platform(),
            python_version=platform.python_version(), codecarbon_version="joulery", cpu_count=os.cpu_count(), cpu_model=_cpu_model(),
            gpu_count=len([r for r in report["components"] if r["path"].count("/") == 2 and r["path"].startswith("node/gpu/")]) or None,
            gpu_model=None, longitude=None, latitude=None, ram_total_size=_ram_gb(), tracking_mode="machine",
            cpu_utilization_percent=None, gpu_utilization_percent=None, ram_utilization_percent=None, ram_used_gb=None,
            on_cloud="Y" if self._cloud[0] else "N", pue=pue, wue=None)

    def _save(self, data):
        if self._saves:
            _emissions_csv.write(self._path, data.values, self._mode)


class OfflineEmissionsTracker(EmissionsTracker):
    """The same: this one never needs a network. country_iso_code or a cloud region says whose electricity it is."""


def _cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), None)
    except OSError:
        return None


def _ram_gb():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    except (OSError, ValueError):
        return None


def track_emissions(fn=None, *, offline=False, **options):
    """Decorator: each call of the function is a run of an EmissionsTracker(**options)."""

    def decorate(function):
        @functools.wraps(function)
        def tracked(*arguments, **keywords):
            if offline and not (options.get("country_iso_code") or options.get("cloud_provider")):
                raise ValueError("Needs ISO Code of the Country for Offline mode")
            with EmissionsTracker(**options):
                return function(*arguments, **keywords)

        return tracked

    return decorate(fn) if fn is not None else decorate


def track_task_emissions(fn=None, tracker=None, task_name=""):
    """Decorator: each call of the function is a task of `tracker`, or a run of its own without one."""

    def decorate(function):
        @functools.wraps(function)
        def tracked(*arguments, **keywords):
            used = tracker or EmissionsTracker()
            used.start_task(task_name)
            try:
                return function(*arguments, **keywords)
            finally:
                used.stop_task()
                if tracker is None:
                    used.stop()

        return tracked

    return decorate(fn) if fn is not None else decorate
