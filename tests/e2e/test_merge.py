# scripts/test: timeout=900
"""`joulery merge` and ranks, with the real program: two stand-in hosts of known watts, and ranks that share one host."""
import decimal
import json
import os
import subprocess

import pytest

from conftest import ROOT, built, one_line
from scripted_tree import ScriptedTree

PYTHON = "/usr/bin/python3"

# A rank: waits for a folder in which every rank has left a file, then steps in lockstep by the wall clock of a shared file system.
RANK = """
import os, sys, time, pathlib, joulery
meet, rank, ranks, steps, work_ms = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
def barrier(name):
    (meet / f"{name}.{rank}").touch()
    while sum((meet / f"{name}.{r}").exists() for r in range(ranks)) < ranks:
        time.sleep(0.0005)
barrier("start")
for k in range(steps):
    with joulery.step(samples=8):
        time.sleep(work_ms / 1e3)
        joulery.mark("collective")
        barrier(k)
joulery.kpi("accuracy", 0.9)
"""


@pytest.fixture
def package():
    """Where python's package was built: the folder for PYTHONPATH."""
    path = built("python")
    if path is None:
        pytest.skip("the Python package is not built")
    return {"PYTHONPATH": str(path)}


class Host:
    """A machine by script with a name and a boot of its own; the rest of /proc is this machine's."""

    def __init__(self, root, name, watts):
        self.root, self.name, self.watts = root, name, watts
        kernel = root / "proc" / "sys" / "kernel"
        (kernel / "random").mkdir(parents=True)
        (kernel / "hostname").write_text(name + "\n")
        (kernel / "random" / "boot_id").write_text(f"00000000-0000-0000-0000-{name:0>12}\n")
        for entry in ("stat", "cpuinfo", "meminfo"):
            (root / "proc" / entry).symlink_to(f"/proc/{entry}")
        self.tree = ScriptedTree(str(root), [("intel-rapl:0", "package-0", watts)], alone=True)


@pytest.fixture
def hosts(tmp_path):
    pair = [Host(tmp_path / name, name, watts) for name, watts in (("alpha", 20.0), ("beta", 50.0))]
    with pair[0].tree, pair[1].tree:
        yield pair


def start(run, host, file, *words, env=None):
    return run.start("run", "--quiet", "--sysroot", host.root, "-o", file, "--", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     text=True, env={**run.environment, **(env or {})})


def finish(*runs):
    for each in runs:
        _, said = each.communicate(timeout=120)
        assert each.returncode == 0, said


def exact(run, file):
    return json.loads(run("report", file, "--json", check=0).stdout, parse_float=decimal.Decimal)


def rank_words(tmp_path, rank, ranks, steps, work_ms):
    script, meet = tmp_path / "rank.py", tmp_path / "meet"
    script.write_text(RANK)
    meet.mkdir(exist_ok=True)
    return [PYTHON, str(script), str(meet), str(rank), str(ranks), str(steps), str(work_ms)]


def schema(report):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(json.dumps(report, default=float)), json.loads((ROOT / "data/schemas/report.json").read_text()))


def test_two_hosts_are_one_job(run, hosts, package, tmp_path):
    files = [tmp_path / "a.joulery", tmp_path / "b.joulery"]
    finish(*[start(run, host, file, *rank_words(tmp_path, rank, 2, 30, 5 + 30 * rank), env={**package, "RANK": str(rank)})
             for rank, (host, file) in enumerate(zip(hosts, files))])
    job = tmp_path / "job.joulery"
    done = run("merge", *files, "-o", job, check=0)
    assert "beta: 1 recording, its clock" in done.stdout and "by 30 common steps" in done.stdout
    parts, whole = [exact(run, file) for file in files], exact(run, job)
    schema(whole)
    assert whole["energy"]["joules"] == sum(part["energy"]["joules"] for part in parts)
    assert sum(c["joules"] for c in whole["components"] if not c["overlap"] and c["joules"] is not None) == whole["energy"]["joules"]
    assert sum(phase["joules"] for phase in whole["phases"]) == whole["energy"]["joules"]
    assert sum(host["joules"] for host in whole["hosts"]) == whole["energy"]["joules"]
    for host, part in zip(whole["hosts"], parts):
        assert host["joules"] == part["energy"]["joules"]
    # 20 W and 50 W by construction, but for reading and writing late on a busy machine
    for host, told in zip(hosts, whole["hosts"]):
        seconds = float(told["end_s"] - told["begin_s"])
        assert float(told["joules"]) == pytest.approx(host.watts * seconds, abs=0.15 * host.watts)
    # both stand-ins are this machine: the truth is 0, and the clocks tell it to within the jitter of a busy machine
    clock = whole["hosts"][1]["clock"]
    assert clock["source"] == "30 common steps" and abs(clock["ahead_ms"]) < 20
    assert whole["rounds"] == 30 and [rank["rank"] for rank in whole["ranks"]] == [0, 1]
    assert [rank["host"] for rank in whole["ranks"]] == ["alpha", "beta"]
    assert whole["work"][0]["count"] == 2 * 30 * 8
    # beta computes 30 ms longer in each of 30 steps: alpha waits for it
    slow = whole["ranks"][1]
    assert slow["last"] >= 25 and float(slow["waited_for_s"]) == pytest.approx(0.9, rel=0.5)
    text = run("report", job, check=0).stdout
    assert "Straggler" in text and "beta" in text and "common steps" in text
    for words in (["--html"], ["--markdown"], ["--csv"]):
        assert "alpha" in run("report", job, *words, check=0).stdout
    assert "host/beta/node/cpu/package-0" in run("sql", job, "SELECT DISTINCT component FROM samples", check=0).stdout
    counters = {event["name"] for event in json.loads(run("export", job, "--perfetto", check=0).stdout)["traceEvents"] if event["ph"] == "C"}
    assert any("beta" in name for name in counters) and any("alpha" in name for name in counters), counters
    run("ledger", job, check=0)


def test_ranks_under_one_run_share_the_host(run, hosts, package, tmp_path):
    """As torchrun and mpirun start them: two processes with marks under one joulery run."""
    first, second = (" ".join(rank_words(tmp_path, rank, 2, 20, 10)) for rank in (0, 1))
    file = tmp_path / "one.joulery"
    finish(start(run, hosts[0], file, "sh", "-c", f"RANK=0 {first} & RANK=1 {second} & wait", env=package))
    report = exact(run, file)
    schema(report)
    assert report["steps"]["count"] == 40 and report["rounds"] == 20 and report["hosts"] == []
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1] and [rank["steps"] for rank in report["ranks"]] == [20, 20]
    steps = next(phase for phase in report["phases"] if phase["name"] == "steps")
    assert sum(rank["joules"] for rank in report["ranks"]) == steps["joules"]
    assert report["work"][0]["count"] == 2 * 20 * 8


def test_ranks_under_runs_of_their_own_count_their_host_once(run, hosts, package, tmp_path):
    host, files = hosts[0], [tmp_path / "a.joulery", tmp_path / "b.joulery"]
    finish(*[start(run, host, file, *rank_words(tmp_path, rank, 2, 20, 10), env={**package, "RANK": str(rank)})
             for rank, file in enumerate(files)])
    job = tmp_path / "job.joulery"
    said = run("merge", *files, "-o", job, check=0).stdout
    assert "alpha: 2 recordings, counted once" in said
    parts, whole = [exact(run, file) for file in files], exact(run, job)
    schema(whole)
    energies = [float(part["energy"]["joules"]) for part in parts]
    # The counter of the stand-in steps when its process gets a CPU: two that read it at other moments differ by some milliseconds.
    assert max(energies) - 0.05 * host.watts <= float(whole["energy"]["joules"]) < 0.75 * sum(energies)
    assert float(whole["energy"]["joules"]) == pytest.approx(host.watts * float(whole["duration_s"]), abs=0.15 * host.watts)
    assert len(whole["hosts"]) == 1 and whole["hosts"][0]["recordings"] == 2 and len(whole["ranks"]) == 2
    steps = next(phase for phase in whole["phases"] if phase["name"] == "steps")
    assert sum(rank["joules"] for rank in whole["ranks"]) == steps["joules"]


def test_what_does_not_belong_together_is_refused_in_one_line(run, hosts, tmp_path):
    first, second, job = tmp_path / "a.joulery", tmp_path / "b.joulery", tmp_path / "job.joulery"
    finish(start(run, hosts[0], first, "sleep", "0.3"))
    finish(start(run, hosts[1], second, "sleep", "0.3"))
    for words, names in (([first, second], ["--apart", str(second)]), ([first, tmp_path / "none"], ["none"]), ([first, __file__], ["recording"])):
        done = run("merge", *words, "-o", job)
        assert done.returncode in (1, 2) and done.stdout == "" and not job.exists()
        one_line(done.stderr, *names)
    assert sorted(path.name for path in tmp_path.glob("*.joulery*")) == ["a.joulery", "b.joulery"]
    run("merge", first, second, first, "--apart", "-o", job, check=0)
    assert exact(run, job)["energy"]["joules"] == sum(exact(run, file)["energy"]["joules"] for file in (first, second))
    for words in ([first], [first, job]):  # it exists; it was merged already
        done = run("merge", *words, "-o", job if words == [first] else tmp_path / "x")
        assert done.returncode == 2
        one_line(done.stderr)


GLOO = """
import os, torch, joulery
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in joulery.steps(range(15), samples=16):
    x = torch.randn(16, 64)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
joulery.kpi("loss", float(loss))
dist.destroy_process_group()
"""


def test_torch_distributed_ranks(run, hosts, package, tmp_path):
    """Two real ranks over gloo, each its own process, under one joulery run."""
    python = os.environ.get("JOULERY_TEST_PYTHON", str(ROOT / ".venv/bin/python"))
    if subprocess.run([python, "-c", "import torch.distributed as d; assert d.is_gloo_available()"], capture_output=True).returncode != 0:
        pytest.skip("no torch.distributed with gloo: scripts/setup frameworks installs it")
    script, file = tmp_path / "gloo.py", tmp_path / "gloo.joulery"
    script.write_text(GLOO)
    env = {**package, "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive",
           "OPENBLAS_NUM_THREADS": "1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}
    finish(start(run, hosts[0], file, "sh", "-c", f"RANK=0 {python} {script} & RANK=1 {python} {script} & wait", env=env))
    report = exact(run, file)
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1] and [rank["steps"] for rank in report["ranks"]] == [15, 15]
    assert report["rounds"] == 15 and report["work"][0]["count"] == 2 * 15 * 16
    steps = next(phase for phase in report["phases"] if phase["name"] == "steps")
    assert sum(rank["joules"] for rank in report["ranks"]) == steps["joules"]
    assert sum(phase["joules"] for phase in report["phases"]) == report["energy"]["joules"]
