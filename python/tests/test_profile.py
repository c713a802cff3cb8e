"""The window of steps that hooks profile under `joulery run --profile`: its bounds, and that its trouble is never the training's."""

import importlib
import subprocess
import sys
import types

import pytest

from joulery import _epochs, _profile
from joulery._epochs import Epochs


class Profiler:
    """Keeps what was asked of it; fails where it is told to."""

    most_memory = 1000

    def __init__(self, fails=None):
        self.calls, self._fails = [], fails

    def __call__(self, folder):
        self._do("make", folder)
        return self

    def _do(self, *call):
        self.calls.append(call)
        if self._fails == call[0]:
            raise RuntimeError("profiler is out of order")

    def step_begin(self, number):
        self._do("begin", number)

    def step_end(self):
        self._do("end")

    def stop(self):
        self._do("stop")


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(_profile, "_written", False)
    monkeypatch.setattr(_profile, "warn", _epochs.Warner())
    for name in ("JOULERY_PROFILE", "JOULERY_PROFILE_STEPS", "JOULERY_PROFILE_SECONDS", "JOULERY_PROFILE_WARMUP", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def time():
    return types.SimpleNamespace(now=0.0, memory=5000)


def window(profiler, time, warmup=2, steps=None, seconds=10.0):
    return _profile.Window(profiler, "folder", warmup, steps, seconds, clock=lambda: time.now, memory=lambda: time.memory)


def train(window, steps, time, seconds=1.0):
    for _ in range(steps):
        window.step_begin()
        time.now += seconds
        window.step_end()


def test_the_window_begins_after_the_warm_up_and_ends_after_its_seconds(time):
    profiler = Profiler()
    train(window(profiler, time, seconds=2.5), 20, time)
    # Made in the last step of the warm-up; steps 2, 3 and 4 end 1, 2 and 3 s after the window began.
    assert profiler.calls == [("make", "folder"), ("begin", 2), ("end",), ("begin", 3), ("end",), ("begin", 4), ("end",), ("end",), ("stop",)]


def test_the_window_ends_after_its_steps(time):
    profiler = Profiler()
    train(window(profiler, time, warmup=0, steps=3), 20, time, seconds=0.1)
    assert [call for call in profiler.calls if call[0] == "begin"] == [("begin", 0), ("begin", 1), ("begin", 2)]
    assert profiler.calls[-1] == ("stop",) and profiler.calls.count(("stop",)) == 1


def test_the_window_ends_where_the_trace_has_become_large(time):
    profiler = Profiler()
    of = window(profiler, time, warmup=0)
    for _ in range(5):
        time.memory += 400
        train(of, 1, time)
    # It began with 5400 bytes; the third step after that has 6600 of them.
    assert [call for call in profiler.calls if call[0] == "begin"] == [("begin", 0), ("begin", 1), ("begin", 2), ("begin", 3)]
    assert profiler.calls[-1] == ("stop",)


def test_a_training_that_ends_within_the_window_leaves_what_there_is(time):
    profiler = Profiler()
    of = window(profiler, time)
    train(of, 4, time)
    of.end()
    assert profiler.calls[-1] == ("stop",) and profiler.calls.count(("begin", 3)) == 1


def test_a_training_that_is_too_short_says_so_and_the_next_one_is_profiled(time, capfd):
    profiler = Profiler()
    of = window(profiler, time, warmup=5)
    train(of, 3, time)
    of.end()
    assert "after 3 steps" in capfd.readouterr().err and not profiler.calls
    train(of, 7, time)
    of.end()
    assert [call for call in profiler.calls if call[0] == "begin"] == [("begin", 5), ("begin", 6)]
    assert profiler.calls[-1] == ("stop",)


def test_one_trace_a_process(time):
    first, second = Profiler(), Profiler()
    for profiler in (first, second):
        of = window(profiler, time)
        train(of, 20, time)
        of.end()
    assert first.calls and not second.calls


@pytest.mark.parametrize("part", ["make", "begin", "end", "stop"])
def test_a_profiler_that_fails_is_said_once_and_disturbs_nothing(time, capfd, part):
    profiler = Profiler(fails=part)
    of = window(profiler, time)
    train(of, 20, time)
    of.end()
    said = capfd.readouterr().err
    assert said.count("no profile") == 1 and "out of order" in said
    assert len([call for call in profiler.calls if call[0] == part]) == 1
    if part in ("begin", "end"):
        assert profiler.calls[-1] == ("stop",)  # it does not run on


def test_hooks_ask_for_a_window_only_where_a_folder_is_named(monkeypatch):
    assert _profile.window("torch") is None
    monkeypatch.setenv("JOULERY_PROFILE", "/folder")
    assert _profile.window("torch") is not None and _profile.window(None) is None and _profile.window("theano") is None
    monkeypatch.setenv("JOULERY_PROFILE_STEPS", "0")
    assert _profile.window("torch") is None
    monkeypatch.setenv("JOULERY_PROFILE_STEPS", "5")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert _profile.window("torch") is None


def test_a_setting_that_makes_no_sense_is_said(monkeypatch, capfd):
    monkeypatch.setenv("JOULERY_PROFILE", "/folder")
    monkeypatch.setenv("JOULERY_PROFILE_SECONDS", "long")
    monkeypatch.setenv("JOULERY_PROFILE_WARMUP", "-3")
    of = _profile.window("jax")
    assert (of._seconds, of._warmup) == (_profile.SECONDS, _profile.WARMUP_STEPS)
    said = capfd.readouterr().err
    assert "JOULERY_PROFILE_SECONDS must be a number" in said and "JOULERY_PROFILE_WARMUP" in said


def test_epochs_lead_the_window_step_by_step(time, monkeypatch):
    monkeypatch.setattr(_epochs.session, "acquire", lambda interval=0: None)
    monkeypatch.setattr(_epochs.session, "release", lambda: None)
    profiler = Profiler()
    epochs = Epochs(None, profile=window(profiler, time, warmup=0, seconds=100))
    epochs.epoch_begin(0)
    for _ in range(2):
        epochs.step_begin(1)
        epochs.step_end()
    epochs.epoch_end()
    epochs.end()
    assert [call[0] for call in profiler.calls] == ["make", "begin", "end", "begin", "end", "end", "stop"]


def module(monkeypatch, name, **contents):
    made = types.ModuleType(name)
    made.__dict__.update(contents)
    monkeypatch.setitem(sys.modules, name, made)
    return made


class Context:
    def __init__(self, calls, words):
        self._calls, self._words = calls, words

    def __enter__(self):
        self._calls.append(("enter", self._words))

    def __exit__(self, *error):
        self._calls.append(("exit", self._words))


def test_tensorflows_profiler_is_asked_by_its_own_names(monkeypatch, time):
    calls = []
    experimental = types.SimpleNamespace(start=lambda folder: calls.append(("start", folder)), stop=lambda: calls.append(("stop",)),
                                         Trace=lambda name, step_num, _r: Context(calls, (name, step_num, _r)))
    module(monkeypatch, "tensorflow", profiler=types.SimpleNamespace(experimental=experimental))
    train(window(_profile._tensorflow, time, warmup=1, steps=1), 3, time)
    assert calls == [("start", "folder"), ("enter", ("train", 1, 1)), ("exit", ("train", 1, 1)), ("stop",)]


def test_jaxs_profiler_follows_no_python_calls(monkeypatch, time):
    calls = []
    options = types.SimpleNamespace(python_tracer_level=1)
    profiler = types.SimpleNamespace(start_trace=lambda folder, profiler_options: calls.append(("start", profiler_options.python_tracer_level)),
                                     stop_trace=lambda: calls.append(("stop",)), ProfileOptions=lambda: options,
                                     StepTraceAnnotation=lambda name, step_num: Context(calls, (name, step_num)))
    module(monkeypatch, "jax", profiler=profiler)
    train(window(_profile._jax, time, warmup=1, steps=1), 3, time)
    assert calls == [("start", 0), ("enter", ("train", 1)), ("exit", ("train", 1)), ("stop",)]


def test_a_profiler_of_the_programs_own_goes_first(monkeypatch, time, capfd):
    module(monkeypatch, "torch", autograd=types.SimpleNamespace(_profiler_enabled=lambda: True))
    train(window(_profile._Torch, time), 5, time)
    assert "a profiler of the program's own is running" in capfd.readouterr().err


def test_a_training_that_fails_leaves_its_trace_at_the_end_of_the_process():
    code = """
import joulery._profile as profile
class Loud:
    most_memory = 1 << 30
    def __init__(self, folder): pass
    def step_begin(self, number): pass
    def step_end(self): pass
    def stop(self): print("stopped")
window = profile.Window(Loud, "folder", 0, None, 100)
window.step_begin()
raise KeyError("the training's own")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "stopped" in done.stdout


@pytest.fixture
def hooked(monkeypatch):
    """Imports a hook's module on stand-ins of its framework, with a profiler that keeps what it was asked: hooked(module, stand-ins)."""
    monkeypatch.setattr(_epochs.session, "acquire", lambda interval=0: None)
    monkeypatch.setattr(_epochs.session, "release", lambda: None)
    monkeypatch.setenv("JOULERY_PROFILE", "folder")
    monkeypatch.setenv("JOULERY_PROFILE_WARMUP", "1")
    monkeypatch.setenv("JOULERY_PROFILE_STEPS", "2")

    def load(name, framework, **standins):
        profiler = Profiler()
        monkeypatch.setattr(_profile, "_FRAMEWORKS", {framework: profiler})
        for path, contents in standins.items():
            module(monkeypatch, path.replace("__", "."), **contents)
        monkeypatch.delitem(sys.modules, f"joulery.{name}", raising=False)
        imported = importlib.import_module(f"joulery.{name}")
        monkeypatch.delitem(sys.modules, f"joulery.{name}")
        return imported, profiler

    return load


THREE_STEPS = ["make", "begin", "end", "begin", "end", "end", "stop"]   # one goes by, two are recorded


def test_lightnings_hook_profiles_optimizer_steps(hooked):
    callbacks = {"Callback": object}
    hook, profiler = hooked("lightning", "torch", lightning={}, lightning__pytorch={}, lightning__pytorch__callbacks=callbacks)
    energy = hook.Energy()
    trainer = types.SimpleNamespace(global_step=0, current_epoch=0, callback_metrics={})
    energy.on_train_start(trainer, None)
    energy.on_train_epoch_start(trainer, None)
    for batch in range(10):                            # two batches are accumulated into a step
        energy.on_train_batch_start(trainer, None, [], batch)
        trainer.global_step = (batch + 1) // 2
        energy.on_train_batch_end(trainer, None, None, [], batch)
    energy.on_train_end(trainer, None)
    assert [call[0] for call in profiler.calls] == THREE_STEPS


def test_the_trainers_hook_profiles_its_steps(hooked):
    hook, profiler = hooked("transformers", "torch", transformers={"TrainerCallback": object})
    energy = hook.Energy(trackers=None)
    arguments, state = types.SimpleNamespace(train_batch_size=4), types.SimpleNamespace(epoch=0, global_step=0, log_history=[])
    energy.on_train_begin(arguments, state, None)
    energy.on_epoch_begin(arguments, state, None)
    for _ in range(5):
        energy.on_step_begin(arguments, state, None)
        energy.on_substep_end(arguments, state, None)
        energy.on_step_end(arguments, state, None)
    energy.on_train_end(arguments, state, None)
    assert [call[0] for call in profiler.calls] == THREE_STEPS


@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_keras_profiles_with_what_it_computes_with(hooked, backend):
    contents = {"callbacks": types.SimpleNamespace(Callback=object), "backend": types.SimpleNamespace(backend=lambda: backend)}
    hook, profiler = hooked("keras", backend, keras=contents)
    energy = hook.Energy(samples=1, trackers=None)
    energy.on_train_begin()
    energy.on_epoch_begin(0)
    for batch in range(5):
        energy.on_train_batch_begin(batch)
        energy.on_train_batch_end(batch)
    energy.on_train_end()
    assert [call[0] for call in profiler.calls] == THREE_STEPS
    assert hook.Loop._FRAMEWORK == backend
