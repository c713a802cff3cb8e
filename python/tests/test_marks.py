"""Marks placed from Python, read back from the ring as documented in src/watch/mark_ring.h."""

import gc
import os
import struct
import subprocess
import sys
import textwrap
import threading

import pytest

import joulery

NAMES_AT, RECORDS_AT = 4096, 4096 + 1024 * 128
LANES = [(0, 32768), (32768, 8192), (40960, 8192), (49152, 8192)]  # first record, number of records
KINDS = ["begin", "end", "point", "kpi", "work"]


def read_ring(path):
    """An independent reader: [(kind, name, value, tid, time)] in order of time, and how many were lost."""
    data = path.read_bytes()
    assert data[:8] == b"JULYRNG1"
    (lost,) = struct.unpack_from("=Q", data, 64)
    heads = [struct.unpack_from("=Q", data, 192 + 192 * lane)[0] for lane in range(len(LANES))]
    places = [(at + 1, first + at % records) for (first, records), head in zip(LANES, heads) for at in range(head)]
    marks = []
    for sequence, place in places:
        commit, ticks, value, tid, name, kind = struct.unpack_from("=QQdIHH", data, RECORDS_AT + place * 32)
        assert commit == sequence
        (length,) = struct.unpack_from("=Q", data, NAMES_AT + (name - 1) * 128)
        text = data[NAMES_AT + (name - 1) * 128 + 8 :][:length].decode()
        marks.append((KINDS[kind], text, value, tid, ticks))
    return sorted(marks, key=lambda mark: mark[4]), lost


def run_marked(tmp_path, code, rings=1):
    """Runs `code` with a ring directory; the marks of its ring(s), without times and threads."""
    environment = dict(os.environ, JOULERY_RING=str(tmp_path))
    program = "import joulery\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = sorted(tmp_path.glob("*.ring"))
    assert len(found) == rings
    read = [read_ring(path) for path in found]
    assert all(lost == 0 for _, lost in read)
    return [mark[:3] for marks, _ in read for mark in marks]


def test_a_step_begins_and_ends_with_its_samples(tmp_path):
    assert run_marked(tmp_path, "with joulery.step(samples=64): joulery.mark('epoch', 3)") == [
        ("begin", "step", 64.0),
        ("point", "epoch", 3.0),
        ("end", "step", 0.0),
    ]


# measure 29 (codecarbon#878): a hook that made 11 s of work last 115 s. A thousand pairs may add 50 ms of CPU time in all.
def test_a_thousand_empty_pairs_cost_next_to_nothing(tmp_path):
    code = """
        import time
        for i in range(10): # the first mark makes the ring
            with joulery.step(samples=1): pass
        before = time.process_time()
        for i in range(1000):
            with joulery.step(samples=1): pass
        used = time.process_time() - before
        assert used <= 0.050, used
    """
    assert len(run_marked(tmp_path, code)) == 2 * 1010


def test_every_way_to_call(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        with joulery.step(): pass
        with joulery.step(8, "decode"): pass
        with joulery.step(name="decode", samples=9.5): pass
        joulery.mark("here")
        joulery.kpi("accuracy", 0.93)
        joulery.kpi(name="accuracy", value=True)
        joulery.work(512, unit="token")
        joulery.work(7)
        """,
    )
    assert [m for m in marks if m[0] != "end"] == [
        ("begin", "step", 0.0),
        ("begin", "decode", 8.0),
        ("begin", "decode", 9.5),
        ("point", "here", 0.0),
        ("kpi", "accuracy", 0.93),
        ("kpi", "accuracy", 1.0),
        ("work", "token", 512.0),
        ("work", "sample", 7.0),
    ]


def test_steps_cover_the_body_and_not_the_wait_for_input(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        def loader():
            for i in range(3):
                joulery.mark("load", i)
                yield i
            joulery.mark("load", 99)
        for batch in joulery.steps(loader(), samples=lambda b: b + 10):
            joulery.mark("body", batch)
        """,
    )
    turn = [[("point", "load", i), ("begin", "step", i + 10), ("point", "body", i), ("end", "step", 0)] for i in range(3)]
    assert marks == sum(turn, []) + [("point", "load", 99)]


@pytest.mark.parametrize("leave", ["break", "raise KeyError"])
def test_a_loop_that_is_left_early_closes_its_step(tmp_path, leave):
    marks = run_marked(
        tmp_path,
        f"""
        try:
            for batch in joulery.steps([1, 2, 3], samples=64):
                {leave}
        except KeyError:
            pass
        joulery.mark("after")
        """,
    )
    assert [m[0] for m in marks] == ["begin", "end", "point"]


def test_an_exception_closes_the_step_and_goes_on(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        try:
            with joulery.step(1):
                raise ValueError("mine")
        except ValueError as error:
            assert str(error) == "mine"
        else:
            raise SystemExit("swallowed")
        """,
    )
    assert [m[0] for m in marks] == ["begin", "end"]


def test_steps_nest(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        with joulery.step(4):
            with joulery.step(4):
                with joulery.step(4, "inner"): pass
        """,
    )
    assert [m[:2] for m in marks] == [("begin", "step"), ("begin", "step"), ("begin", "inner"), ("end", "inner"), ("end", "step"), ("end", "step")]


def test_threads_keep_their_own_numbers(tmp_path):
    run_marked(
        tmp_path,
        """
        import threading
        def work(i):
            for _ in range(500):
                with joulery.step(i): pass
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        """,
    )
    marks, _ = read_ring(next(tmp_path.glob("*.ring")))
    assert len(marks) == 4000
    for i in range(4):
        tids = {tid for kind, _, value, tid, _ in marks if kind == "begin" and value == i}
        assert len(tids) == 1
    assert len({tid for *_, tid, _ in marks}) == 4


def test_a_forked_child_has_its_own_ring(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        import os
        joulery.mark("parent", 1)
        pid = os.fork()
        if pid == 0:
            joulery.mark("child", 2)
            os._exit(0)
        os.waitpid(pid, 0)
        joulery.mark("parent", 3)
        """,
        rings=2,
    )
    assert sorted(marks) == [("point", "child", 2.0), ("point", "parent", 1.0), ("point", "parent", 3.0)]


def test_a_changing_number_is_read_each_time(tmp_path):
    marks = run_marked(
        tmp_path,
        """
        class Count:
            n = 0
            def __float__(self): return float(self.n)
        count = Count()
        for count.n in (1, 2):
            with joulery.step(count): pass
        """,
    )
    assert [m[2] for m in marks if m[0] == "begin"] == [1.0, 2.0]


def test_a_number_that_cannot_be_read_is_counted_and_harms_nothing(tmp_path):
    code = """
        class Bad:
            def __float__(self): raise RuntimeError
        joulery.kpi("loss", Bad())
        joulery.kpi("loss", float("nan"))
        assert joulery.lost() == 2
        with joulery.step(Bad()): pass
        assert joulery.lost() == 2
    """
    environment = dict(os.environ, JOULERY_RING=str(tmp_path))
    subprocess.run([sys.executable, "-c", "import joulery\n" + textwrap.dedent(code)], env=environment, check=True, timeout=60)
    marks, lost = read_ring(next(tmp_path.glob("*.ring")))
    assert [m[:3] for m in marks] == [("begin", "step", 0.0), ("end", "step", 0.0)] and lost == 2


# ---- in this process, which has no ring ----


def test_without_a_ring_nothing_happens():
    assert not joulery.active()
    assert joulery.lost() == 0
    with joulery.step(samples=64) as step:
        assert isinstance(step, joulery.Step)
    assert list(joulery.steps([1, 2, 3], samples=2)) == [1, 2, 3]
    joulery.mark("epoch", 1)
    joulery.kpi("accuracy", 0.5)
    joulery.work(3, unit="token")


@pytest.mark.parametrize(
    "call",
    [
        lambda: joulery.mark(3),
        lambda: joulery.mark("a", "b"),
        lambda: joulery.mark(),
        lambda: joulery.mark("a", 1, 2),
        lambda: joulery.mark("a", name="b"),
        lambda: joulery.mark("a", weight=1),
        lambda: joulery.kpi("a"),
        lambda: joulery.kpi("a", None),
        lambda: joulery.step("many"),
        lambda: joulery.step(1, 2),
        lambda: joulery.steps(),
        lambda: joulery.steps([], samples="many"),
        lambda: iter(joulery.steps(3)),
    ],
)
def test_a_wrong_argument_is_a_type_error_with_or_without_a_ring(call):
    with pytest.raises(TypeError):
        call()


def test_steps_are_as_long_and_as_often_iterable_as_what_they_wrap():
    steps = joulery.steps([1, 2], samples=1)
    assert len(steps) == 2
    assert list(steps) == list(steps) == [1, 2]
    with pytest.raises(TypeError):
        len(joulery.steps(iter([1])))


def test_errors_of_the_loader_and_of_the_size_come_through(tmp_path):
    def loader():
        yield 1
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(joulery.steps(loader()))
    marks = run_marked(
        tmp_path,
        """
        def size(item): return 1 / item
        try: list(joulery.steps([1, 0], samples=size))
        except ZeroDivisionError: joulery.mark("seen")
        """,
    )
    assert [m[0] for m in marks] == ["begin", "end", "point"]


def test_nothing_leaks():
    def work():
        for _ in range(1000):
            with joulery.step(samples=64):
                pass
            with joulery.step(samples=0.5, name="x"):
                pass
            for _ in joulery.steps([1], samples=2):
                pass
            joulery.mark("epoch", 1)

    work()
    gc.collect()
    before = sys.getrefcount(joulery.Step), sys.getrefcount(joulery.Steps), len(gc.get_objects())
    work()
    gc.collect()
    after = sys.getrefcount(joulery.Step), sys.getrefcount(joulery.Steps), len(gc.get_objects())
    assert all(abs(a - b) < 20 for a, b in zip(after, before))


def test_a_cycle_through_steps_is_collected():
    class Loader(list):
        pass

    loader = Loader([1])
    loader.steps = joulery.steps(loader)
    loader.pass_ = iter(loader.steps)
    gone = threading.Event()
    import weakref

    weakref.finalize(loader, gone.set)
    del loader
    gc.collect()
    assert gone.is_set()
