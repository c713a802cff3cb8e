"""What all hooks share, without a framework: epochs, trackers, early stopping, batch sizes, ranks."""

import math
import os
import struct
import subprocess
import sys
import textwrap
import types

import pytest

from joulery import _energy, _epochs, _events, _ranks
from joulery._energy import Reading
from joulery._epochs import Epochs, batch_size
from joulery._worth import Worth, direction_of
from joulery.trackers import MLflow, TensorBoard, WandB

S = 1_000_000_000


@pytest.fixture
def clock(monkeypatch):
    """A machine of 20 W whose time the test moves: clock["now"] in seconds."""
    state = {"now": 100.0, "known": True}

    def energy():
        now = round(state["now"] * S)
        joules = round((state["now"] - 50) * 20e6) if state["known"] else None
        return Reading((50 * S, now, joules, joules, joules, 20.0, 0, "measured", False, "", now))

    monkeypatch.setattr(_epochs, "energy", energy)
    monkeypatch.setattr(_epochs.session, "acquire", lambda interval=0: None)
    monkeypatch.setattr(_epochs.session, "release", lambda: None)
    return state


class Book:
    def __init__(self):
        self.rows = []

    def log(self, figures, step):
        self.rows.append((step, dict(figures)))


def test_an_epoch_has_its_figures(clock):
    book = Book()
    epochs = Epochs([book])
    epochs.epoch_begin(3)
    for _ in range(5):
        epochs.step_begin(8)
        clock["now"] += 2
        epochs.step_end()
    figures = epochs.epoch_end({"loss": 0.5})
    assert figures == pytest.approx({"energy_j": 200.0, "j_per_sample": 5.0, "watts": 20.0})
    assert book.rows == [(3, figures)]
    assert epochs.epochs[0]["samples"] == 40 and epochs.epochs[0]["epoch"] == 3
    assert epochs.end().joules == pytest.approx(200)


def test_unknown_energy_is_left_out_and_said_once(clock, capfd, monkeypatch):
    monkeypatch.setattr(_epochs, "warn", _epochs.Warner())
    clock["known"] = False
    book = Book()
    epochs = Epochs([book])
    for epoch in range(3):
        epochs.epoch_begin(epoch)
        clock["now"] += 1
        assert epochs.epoch_end() == {}
    assert book.rows == [] and [row["energy_j"] for row in epochs.epochs] == [None] * 3
    assert capfd.readouterr().err.count("not known") == 1


def test_without_samples_there_is_no_figure_per_sample(clock):
    epochs = Epochs(None)
    epochs.epoch_begin(0)
    clock["now"] += 1
    assert "j_per_sample" not in epochs.epoch_end()


def test_a_broken_tracker_does_not_stop_the_training(clock, capfd, monkeypatch):
    monkeypatch.setattr(_epochs, "warn", _epochs.Warner())

    class Broken:
        def log(self, figures, step):
            raise OSError("disk full")

    book = Book()
    epochs = Epochs([Broken(), book])
    epochs.epoch_begin(0)
    clock["now"] += 1
    epochs.epoch_end()
    assert len(book.rows) == 1 and "Broken did not take the figures: disk full" in capfd.readouterr().err


def test_only_the_first_rank_of_a_host_tells_and_counts_for_all(clock, monkeypatch):
    for rank, told in ((0, 1), (1, 0)):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
        book = Book()
        epochs = Epochs(book)
        epochs.epoch_begin(0)
        epochs.step_begin(10)
        clock["now"] += 2
        figures = epochs.epoch_end()
        assert len(book.rows) == told
        assert figures["j_per_sample"] == pytest.approx(40 / (4 * 10))  # the host's joules, the samples of its four ranks


@pytest.mark.parametrize("environment, expected", [
    ({}, (0, 1)),
    ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "8"}, (2, 8)),
    ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, (1, 2)),
    ({"SLURM_LOCALID": "3", "SLURM_NTASKS_PER_NODE": "4"}, (3, 4)),
    ({"LOCAL_RANK": "rubbish"}, (0, 1)),
])
def test_ranks(monkeypatch, environment, expected):
    for names in _ranks._NAMES:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (_ranks.local_rank(), _ranks.local_ranks()) == expected


def test_batch_sizes():
    array = types.SimpleNamespace(shape=(7, 3))
    assert batch_size(array) == 7
    assert batch_size((array, types.SimpleNamespace(shape=(9,)))) == 7
    assert batch_size({"x": [array], "y": 1}) == 7
    assert batch_size(types.SimpleNamespace(data={"x": array})) == 7
    assert batch_size(types.SimpleNamespace(shape=())) == 0
    assert batch_size("words") == 0 and batch_size([]) == 0 and batch_size(None) == 0


def test_mlflow_and_wandb_are_used_where_a_run_is_active_only(monkeypatch):
    logged = []
    mlflow = types.ModuleType("mlflow")
    mlflow.active_run = lambda: None
    mlflow.log_metrics = lambda metrics, step: logged.append(("mlflow", metrics, step))
    wandb = types.ModuleType("wandb")
    wandb.run = None
    wandb.log = lambda figures: logged.append(("wandb", figures))
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    for tracker in (MLflow(), WandB()):
        tracker.log({"energy_j": 1.0}, 0)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    for tracker in (MLflow(), WandB()):
        tracker.log({"energy_j": 1.0}, 0)
    assert logged == []
    mlflow.active_run, wandb.run = lambda: object(), object()
    for tracker in (MLflow(), WandB()):
        tracker.log({"energy_j": 1.0}, 2)
    assert logged == [("mlflow", {"joulery/energy_j": 1.0}, 2), ("wandb", {"joulery/energy_j": 1.0, "joulery/epoch": 2})]


def test_a_summary_writer_of_the_programs_own_is_used():
    scalars = []
    writer = types.SimpleNamespace(add_scalar=lambda name, value, step: scalars.append((name, value, step)))
    TensorBoard(writer).log({"watts": 20.0}, 1)
    assert scalars == [("joulery/watts", 20.0, 1)]


def test_event_files_are_tfrecords(tmp_path):
    TensorBoard(tmp_path / "logs").log({"watts": 20.5}, 3)
    (path,) = (tmp_path / "logs").iterdir()
    data, events = path.read_bytes(), []
    while data:
        (length,) = struct.unpack_from("<Q", data)
        events.append(data[12 : 12 + length])
        data = data[16 + length :]
    assert b"brain.Event:2" in events[0]
    assert b"joulery/watts" in events[1] and struct.pack("<f", 20.5) in events[1]


def test_the_checksum_is_crc_32c():
    # RFC 3720, B.4: 32 bytes of zeros give 0x8a9136aa; masked as TensorFlow does, ((c >> 15) | (c << 17)) + 0xa282ead8.
    crc = 0x8A9136AA
    assert _events.masked_crc(bytes(32)) == ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def at(joules, seconds=0.0):
    return Reading((1, 2 + round(joules * 1e6), round(joules * 1e6), 0, 0, 0.0, 0, "measured", False, "", 2 + round(joules * 1e6)))


def test_training_goes_on_while_a_kilowatt_hour_buys_enough():
    worth = Worth(0.01, "val_accuracy")
    kwh = 3.6e6
    assert not worth.update(0.50, at(0))
    assert not worth.update(0.55, at(1 * kwh))       # 0.05 per kWh
    assert worth.gain_per_kwh == pytest.approx(0.05)
    assert not worth.update(0.571, at(3 * kwh))      # 0.0105 per kWh: just enough
    assert worth.update(0.575, at(4 * kwh))          # 0.005 per kWh
    assert "less than 0.01" in worth.words()


def test_patience_counts_from_the_last_worthy_evaluation():
    worth = Worth(1.0, "loss", patience=2)
    kwh = 3.6e6
    assert not worth.update(5.0, at(0))
    assert not worth.update(4.5, at(1 * kwh))   # 0.5: too little, once
    assert not worth.update(2.0, at(2 * kwh))   # 3 in 2 kWh: worth it after all
    assert not worth.update(1.9, at(3 * kwh))
    assert worth.update(1.8, at(4 * kwh))


def test_where_energy_or_metric_is_unknown_nothing_is_stopped(capfd, monkeypatch):
    worth = Worth(1.0, "accuracy")
    unknown = Reading((1, 0, None, None, None, None, 0, "missing", True, "", 5))
    for _ in range(4):
        assert not worth.update(0.5, unknown)
        assert not worth.update(None, at(1))
        assert not worth.update(math.nan, at(1))


def test_which_way_a_figure_is_better():
    assert direction_of("val_accuracy") == 1 and direction_of("val_loss") == -1 and direction_of("x", "min") == -1
    with pytest.raises(ValueError, match="max"):
        direction_of("something")
    for wrong in ({"min_gain_per_kwh": 0, "name": "loss"}, {"min_gain_per_kwh": 1, "name": "loss", "patience": 0},
                  {"min_gain_per_kwh": 1, "name": "loss", "mode": "up"}):
        with pytest.raises(ValueError):
            Worth(**wrong)


def test_hooks_of_one_process_share_one_session(monkeypatch):
    begun = []
    monkeypatch.setattr(_energy._joulery, "begin_session", lambda *arguments: begun.append(arguments) or object())
    session = _energy._Session()
    session.acquire()
    session.acquire()
    assert len(begun) == 1
    session.release()
    assert session._handle is not None
    session.release()
    assert session._handle is None


def test_a_loop_ends_its_step_whichever_way_it_is_left(tmp_path):
    code = """
        from joulery._loop import Loop
        loop = Loop(trackers=None)
        for epoch in loop.epochs(2):
            for item in loop.steps([1, 2, 3], samples=4):
                if item == 2: break
        with loop.step(5): pass
        assert loop._epochs._in_step is False
        try:
            for item in loop.steps([1], samples=1): raise KeyError
        except KeyError: pass
        import gc; gc.collect()
        assert loop._epochs._in_step is False
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "JOULERY_RING": str(tmp_path)}, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
