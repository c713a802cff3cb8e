"""`joulery run --profile DIR`: a hook starts its framework's profiler over a window of steps, and leaves the trace in DIR.

JOULERY_PROFILE names the folder; without it a hook pays one branch a step. The window begins after JOULERY_PROFILE_WARMUP steps (10) and
ends with the first step that is over after JOULERY_PROFILE_SECONDS (10), after JOULERY_PROFILE_STEPS steps where that is given (0 of them
leaves the profiler to the program), or when the process has grown by the profiler's `most_memory`: nothing else tells how large its trace
has become. A trace is written once by a process, by the first rank of a host. Whatever fails here is said on
stderr, once, and the training goes on.
"""

import atexit
import os
import socket
import time

from . import _joulery
from ._epochs import warn
from ._ranks import local_rank

WARMUP_STEPS = 10  # compilation, autotuning and caches are over by then
SECONDS = 10.0     # a hundred readings of a meter of 100 ms, and no more than some hundred MB of trace


def _memory():
    """Bytes of this process in memory, 0 where nothing tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class _Torch:
    """torch.profiler: all its activities, written as Chrome JSON."""

    most_memory = 256 << 20  # at most some 300 MB of JSON, twice that with details; it takes several times as much while it is written

    def __init__(self, folder):
        import torch

        if torch.autograd._profiler_enabled():
            raise RuntimeError("a profiler of the program's own is running")
        self._file = os.path.join(folder, f"{socket.gethostname()}_{os.getpid()}.pt.trace.json")
        detail = os.environ.get("JOULERY_PROFILE_DETAIL") == "1"
        record, warmup = torch.profiler.ProfilerAction.RECORD, torch.profiler.ProfilerAction.WARMUP
        self._profile = torch.profiler.profile(schedule=lambda step: record if step > 0 else warmup, on_trace_ready=self._export,
                                               profile_memory=detail, with_stack=detail)
        self._profile.start()

    def step_begin(self, number):
        self._profile.step()
        _joulery.mark("ProfilerStep", self._profile.step_num)  # so the clocks can be aligned by the steps

    def step_end(self):
        pass

    def stop(self):
        self._profile.stop()

    def _export(self, profile):
        profile.export_chrome_trace(self._file + ".part")
        os.replace(self._file + ".part", self._file)


class _Steps:
    """What TensorFlow and JAX share: start, stop, and a step as a context."""

    most_memory = 512 << 20

    def __init__(self, folder, start, stop, step):
        self._folder, self._start, self.stop, self._make = folder, start, stop, step
        self._started, self._step = False, None

    def step_begin(self, number):
        if not self._started:
            self._start(self._folder)
            self._started = True
        self._step = self._make("train", step_num=number)
        self._step.__enter__()

    def step_end(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None


def _tensorflow(folder):
    from tensorflow import profiler

    tf = profiler.experimental
    return _Steps(folder, tf.start, tf.stop, lambda name, step_num: tf.Trace(name, step_num=step_num, _r=1))


def _jax(folder):
    from jax import profiler

    def start(folder):
        if hasattr(profiler, "ProfileOptions"):
            options = profiler.ProfileOptions()
            options.python_tracer_level = 0  # each Python call would be an event
            profiler.start_trace(folder, profiler_options=options)
        else:
            profiler.start_trace(folder)

    return _Steps(folder, start, profiler.stop_trace, profiler.StepTraceAnnotation)


_FRAMEWORKS = {"torch": _Torch, "tensorflow": _tensorflow, "jax": _jax}
_written = False  # by this process


def _setting(name, default, kind):
    text = os.environ.get(name)
    if not text:
        return default
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if value < 0:
        warn(f"{name} must be a number, 0 or more, not '{text}'; taken as {default}")
        return default
    return value


def window(framework):
    """The Window for a hook of `framework` (torch, tensorflow, jax), None where no profile is asked for or it is not this process' to write."""
    folder = os.environ.get("JOULERY_PROFILE")
    if not folder or local_rank() != 0 or framework not in _FRAMEWORKS:
        return None
    steps = _setting("JOULERY_PROFILE_STEPS", None, int)
    if steps == 0:
        return None
    return Window(_FRAMEWORKS[framework], folder, _setting("JOULERY_PROFILE_WARMUP", WARMUP_STEPS, int), steps,
                  _setting("JOULERY_PROFILE_SECONDS", SECONDS, float))


class Window:
    """The steps of a training that are profiled. `make(folder)` gives the profiler: step_begin(number), step_end(), stop(), most_memory."""

    def __init__(self, make, folder, warmup, steps, seconds, clock=time.monotonic, memory=_memory):
        self._make, self._folder, self._warmup, self._steps, self._seconds = make, folder, warmup, steps, seconds
        self._clock, self._memory = clock, memory
        self._profiler = None
        self._next = 0         # number of the step that begins next
        self._since = None     # when the first recorded step began
        self._small = 0        # the process' memory then
        self._over = False

    def step_begin(self):
        if self._over or _written:
            return
        number, self._next = self._next, self._next + 1
        if number + 1 < self._warmup:
            return
        try:
            if self._profiler is None:
                self._profiler = self._make(self._folder)
                atexit.register(self._close)  # a training that fails leaves what was recorded
            if number >= self._warmup:
                self._profiler.step_begin(number)
                if self._since is None:
                    self._since, self._small = self._clock(), self._memory()
        except Exception as error:
            self._give_up(error)

    def step_end(self):
        if self._since is None or self._over:
            return
        try:
            self._profiler.step_end()
        except Exception as error:
            self._give_up(error)
            return
        recorded = self._next - self._warmup
        if (self._clock() - self._since >= self._seconds or (self._steps is not None and recorded >= self._steps)
                or self._memory() - self._small >= self._profiler.most_memory):
            self._close()

    def end(self):
        """The training has ended."""
        if self._over or _written:
            return
        if self._since is None:
            warn(f"no profile: the training ended after {self._next} steps, and the profiler lets {self._warmup} go by"
                 " (JOULERY_PROFILE_WARMUP)")
        self._close()
        if self._since is None:  # another training of this process may be longer
            self._profiler, self._next, self._over = None, 0, False

    def _close(self):
        global _written
        atexit.unregister(self._close)
        if self._profiler is None or self._over:
            return
        self._over = True
        recorded = self._since is not None
        try:
            if recorded:
                self._profiler.step_end()
            self._profiler.stop()
            _written = recorded
        except Exception as error:
            warn(f"no profile: the profiler did not stop cleanly: {error}")

    def _give_up(self, error):
        self._over = True
        atexit.unregister(self._close)
        if self._profiler is not None:
            try:
                self._profiler.stop()
            except Exception:
                pass  # it had not begun, or is what failed
        warn(f"no profile: {error or type(error).__name__}; the training goes on")
