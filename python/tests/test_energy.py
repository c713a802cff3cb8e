"""joulery.energy(): readings and their differences, by hand-made tellings; and the page of `joulery run` as watch/energy_page.h has it."""

import os
import struct
import subprocess
import sys
import textwrap

import pytest

import joulery

from joulery._energy import Reading

S = 1_000_000_000


def told(until_s, energy_j, now_s, watts=20.0, holes=0, partial=False, begin_s=100, spread=0.1):
    if energy_j is None:
        return (begin_s * S, 0, None, None, None, None, holes, "missing", True, "", round(now_s * S))
    low, high = round(energy_j * (1 - spread) * 1e6), round(energy_j * (1 + spread) * 1e6)
    return (begin_s * S, round(until_s * S), round(energy_j * 1e6), low, high, watts, holes, "measured", partial, "", round(now_s * S))


def test_a_reading_goes_on_from_the_last_one_with_its_power():
    reading = Reading(told(110, 200, 110.5))
    assert reading.joules == pytest.approx(210) and reading.age == pytest.approx(0.5)
    assert reading.low == pytest.approx(180)   # the half second may have taken nothing
    assert reading.high == pytest.approx(240)  # or twice as much


def test_differences_are_the_energy_between_and_add_up():
    a, b, c = Reading(told(110, 200, 110.5)), Reading(told(120, 400, 120.25)), Reading(told(130, 640, 130.5))
    ab, bc, ac = b - a, c - b, c - a
    assert ab.joules == pytest.approx(405 - 210) and ab.seconds == pytest.approx(9.75)
    assert ab.joules + bc.joules == pytest.approx(ac.joules)
    assert ab.low <= ab.joules <= ab.high
    assert ab.low == pytest.approx(360 - 180 - 2 * 10) and ab.high == pytest.approx(440 - 220 + 2 * 5)
    assert ab.watts == pytest.approx(195 / 9.75) and ab.kwh == pytest.approx(195 / 3.6e6)


def test_what_is_not_known_is_none_with_a_reason():
    nothing = Reading(told(0, None, 110))
    assert (nothing.joules, nothing.low, nothing.high, nothing.quality) == (None, None, None, "missing")
    assert nothing.reason == "no meter has been read yet"
    old = Reading(told(110, 200, 300))
    assert old.joules is None and old.reason == "the last reading is 190 s old"
    spent = old - Reading(told(105, 100, 105))
    assert spent.joules is None and spent.watts is None and spent.reason == old.reason and spent.partial


def test_a_count_that_has_just_begun_begins_with_nothing():
    fresh = Reading(told(0, None, 100.1))
    spent = Reading(told(110, 200, 110)) - fresh
    assert spent.joules == pytest.approx(200 - 200 * 0.1 / 10)
    assert spent.low <= spent.joules <= spent.high


def test_too_short_or_unrelated_is_not_known():
    a = Reading(told(110, 200, 110.1))
    assert "shorter than" in (Reading(told(110, 200, 110.15)) - a).reason
    assert "same instant" in (Reading(told(120, 400, 120, begin_s=101)) - a).reason


def test_a_hole_between_two_readings_makes_their_difference_partial():
    a, b, c = (Reading(told(110 + 10 * i, 200 + 200 * i, 110 + 10 * i, holes=holes)) for i, holes in enumerate((3, 3, 4)))
    assert not (b - a).partial and (c - b).partial


def test_without_a_run_and_without_a_hook_nothing_is_known():
    reading = joulery.energy()
    assert reading.joules is None and "joulery run" in reading.reason


def page(folder, sequence=2, flags=1, magic=0x3147504E454C554A):
    figures = struct.pack("=qqqqqdQII", 5 * S, 6 * S, 1_500_000, 1_000_000, 2_000_000, 1.5, 7, 1, flags) + b"node/dram: why".ljust(448, b"\0")
    (folder / "energy.page").write_bytes(struct.pack("=QIIQQ", magic, 1, 0, 0, sequence) + figures)


def read_page(folder):
    code = "from joulery import _joulery; print(repr(_joulery.energy_so_far()))"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "JOULERY_RING": str(folder)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


def test_the_page_is_read_as_it_is_laid_out(tmp_path):
    page(tmp_path, flags=3)
    *figures, now = read_page(tmp_path)
    assert figures == [5 * S, 6 * S, 1_500_000, 1_000_000, 2_000_000, 1.5, 7, "integrated", True, "node/dram: why"]
    assert now > 0
    assert struct.unpack_from("=Q", (tmp_path / "energy.page").read_bytes(), 16) == (1,)  # it says that it wants more


def test_a_page_of_which_nothing_is_known_gives_no_number(tmp_path):
    page(tmp_path, flags=0)
    assert read_page(tmp_path)[2:5] == (None, None, None)


@pytest.mark.parametrize("wrong", [{"sequence": 3}, {"magic": 1}])
def test_a_page_that_is_being_written_for_ever_or_is_none_of_ours_tells_nothing(tmp_path, wrong):
    page(tmp_path, **wrong)
    assert read_page(tmp_path) is None


def test_a_page_that_is_cut_or_gone_tells_nothing(tmp_path):
    assert read_page(tmp_path) is None
    page(tmp_path)
    whole = (tmp_path / "energy.page").read_bytes()
    for size in (0, 7, 31, 100, len(whole) - 1):
        (tmp_path / "energy.page").write_bytes(whole[:size])
        assert read_page(tmp_path) is None


def test_importing_joulery_imports_no_framework():
    code = """
        import sys, joulery
        assert not {"torch", "tensorflow", "keras", "jax", "lightning", "transformers", "mlflow", "wandb"} & set(sys.modules)
        assert "keras" in dir(joulery) and "torch" in dir(joulery)
        joulery.trackers.resolve("auto")
        assert not {"torch", "tensorflow", "mlflow"} & set(sys.modules)
        try:
            joulery.nothing
        except AttributeError as error:
            assert "nothing" in str(error)
        else:
            raise SystemExit("an attribute that is not there")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_forked_child_does_not_touch_its_parents_session():
    code = """
        import os, joulery
        from joulery._energy import session
        session.acquire()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if joulery.energy().joules is None else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        session.release()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
