"""joulery.measure(): in this process, from a forked child, and under a run that measures already."""

import ctypes
import json
import os
import subprocess
import sys
import textwrap
import time

import pytest

import joulery


def run_program(code, **environment):
    program = "import joulery\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def test_a_measured_block_has_a_duration_and_a_report():
    with joulery.measure("block", interval=0.01) as m:
        time.sleep(0.1)
    assert 0.1 <= m.seconds < 60
    report = json.loads(m.to_json())
    assert report["schema"] == "joulery.report/1"
    assert report["command"] == ["block"]
    assert m.components == report["components"]
    assert report["sampling"]["interval_s"] == 0.01


def test_what_is_not_known_is_none_and_has_a_reason():
    with joulery.measure() as m:
        pass
    for value in (m.joules, m.low, m.high, m.watts):
        assert value is None or value > 0
    if m.joules is None:
        assert m.quality == "missing" and m.partial and m.missing
        assert "not known" in str(m)
    else:
        assert m.low <= m.joules <= m.high
        assert m.watts == pytest.approx(m.joules / m.seconds)


def test_before_the_end_nothing_is_known():
    with joulery.measure() as m:
        assert m.joules is None and m.seconds is None and m.components == [] and m.partial
        assert m.missing == ["node: the measurement has not ended"]
        assert m.to_json() == "null"


# codecarbon#17: a sampler that needs the interpreter was 165 s late while an extension held its lock.
def test_a_program_that_holds_the_interpreter_leaves_no_gap():
    held = 30.0
    with joulery.measure(interval=0.01) as m:
        ctypes.PyDLL(None).usleep(int(held * 1e6))  # PyDLL keeps the interpreter's lock during the call
    report = json.loads(m.to_json())
    assert m.seconds >= held
    assert report["sampling"]["gaps"] == []
    coarsest = 0.1  # without a sensor only the CPUs' busy time is read, no more often than this
    assert report["sampling"]["rounds"] + report["sampling"]["missed"] >= held / coarsest
    assert report["sampling"]["rounds"] >= 10  # a sampler in need of the interpreter gets two or three


def test_measurements_may_nest():
    with joulery.measure("outer") as outer:
        with joulery.measure("inner") as inner:
            time.sleep(0.01)
    assert inner.seconds <= outer.seconds


def test_the_error_of_the_block_goes_on_and_the_time_before_it_counts():
    with pytest.raises(KeyError):
        with joulery.measure() as m:
            raise KeyError
    assert m.seconds > 0


def test_a_decorated_function_measures_each_call(capfd):
    @joulery.measure
    def double(x):
        """Twice."""
        return 2 * x

    assert double.__doc__ == "Twice." and double.measurement is None
    assert double(4) == 8
    first = double.measurement
    assert double(x=5) == 10
    assert double.measurement is not first and double.measurement.seconds > 0
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("joulery: ") and "double" in line for line in lines)


def test_a_decorator_with_a_name_and_recursion(capfd):
    @joulery.measure("count", interval=1)
    def count(n):
        return n if n == 0 else count(n - 1)

    assert count(2) == 0
    assert count.measurement.name == "count"
    assert len(capfd.readouterr().err.splitlines()) == 3


@pytest.mark.parametrize("wrong", [{"interval": 0}, {"interval": 0.0001}, {"interval": 4000}, {"interval": float("nan")}])
def test_an_interval_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match="interval"):
        joulery.measure(**wrong)


def test_a_measurement_is_entered_once():
    measurement = joulery.measure()
    with measurement:
        with pytest.raises(RuntimeError):
            measurement.__enter__()


def test_under_a_run_it_marks_and_says_so(tmp_path):
    done = run_program(
        """
        for _ in range(2):
            with joulery.measure("eval") as m: pass
        assert m.joules is None and m.quality == "missing" and "joulery run" in m.missing[0]
        """,
        JOULERY_RING=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "joulery run" in done.stderr
    ring = next(tmp_path.glob("*.ring")).read_bytes()
    assert b"eval begin" in ring and b"eval end" in ring


def test_under_a_run_it_measures_where_forced(tmp_path):
    done = run_program(
        """
        with joulery.measure(force=True) as m: pass
        assert m.seconds > 0
        """,
        JOULERY_RING=str(tmp_path),
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_forked_child_neither_hangs_nor_harms_its_parents_measurement():
    done = run_program(
        """
        import os
        measurement = joulery.measure()
        with measurement as m:
            pid = os.fork()
            if pid == 0:
                measurement.__exit__(None, None, None)
                os._exit(0 if m.joules is None and "forked" in m.missing[0] else 2)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            pid = os.fork()
            if pid == 0:
                raise SystemExit(7)  # leaves through the interpreter's own end, handle and all
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert m.seconds > 0
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_program_that_ends_in_the_midst_of_a_measurement_ends():
    done = run_program(
        """
        m = joulery.measure()
        m.__enter__()
        """
    )
    assert done.returncode == 0, done.stderr
