# scripts/test: timeout=600
"""joulery.torch with the real PyTorch: a loop with a DataLoader, torch.profiler, early stopping, two ranks on one host."""
import json
import os
import subprocess

import pytest
from frameworks import WATTS, check_epoch, check_sums, environment, kpi, need, python, train, work

SAMPLES, BATCH, EPOCHS = 250, 32, 2
BATCHES = -(-SAMPLES // BATCH)


@pytest.fixture(scope="module")
def trained(joulery, tmp_path_factory):
    need("torch")
    return train(joulery, tmp_path_factory.mktemp("torch"), f"""
        import time
        import torch
        torch.manual_seed(1)
        x = torch.rand({SAMPLES}, 8); y = (x.sum(1, keepdim=True) > 4).float()
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size={BATCH}, shuffle=True)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        optimizer = torch.optim.Adam(model.parameters())
        loss_of = torch.nn.BCEWithLogitsLoss()
        def update(x, y):
            optimizer.zero_grad(); loss = loss_of(model(x), y); loss.backward(); optimizer.step()
            return loss.item()
        energy = joulery.torch.Energy(sync=True, trackers=joulery.trackers.TensorBoard("logs"))
        for epoch in energy.epochs({EPOCHS}):
            time.sleep(1.0)
            wrapped = energy.steps(loader)
            assert len(wrapped) == {BATCHES} and wrapped.dataset is loader.dataset
            for a, b in wrapped:
                loss = update(a, b)
            energy.log(accuracy=((model(x) > 0).float() == y).float().mean(), loss=loss)
        with joulery.torch.Profiler(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
                                    on_trace_ready=lambda p: p.export_chrome_trace("trace.json"))) as profiler:
            for _ in range(5):
                update(x, y)
                profiler.step()
        tell(figures=energy.figures, total=energy.total.joules)
    """)


def test_each_epoch_has_its_energy_by_the_power_of_the_machine(trained):
    figures = trained.told["figures"]
    assert len(figures) == EPOCHS
    for epoch in figures:
        check_epoch(epoch, samples=SAMPLES)
    assert sum(epoch["energy_j"] for epoch in figures) == pytest.approx(trained.told["total"], rel=0.02)


def test_tensorboard_reads_the_same_figures(trained):
    need("tensorboard")
    code = "import sys, json\nfrom tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n" \
           "e = EventAccumulator(sys.argv[1]); e.Reload(); print(json.dumps([[s.step, s.value] for s in e.Scalars('joulery/energy_j')]))"
    read = subprocess.run([python(), "-c", code, trained.recording.parent / "logs"], env={**environment(), "PATH": os.environ["PATH"]},
                          capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    steps, values = zip(*json.loads(read.stdout))
    assert list(steps) == list(range(EPOCHS))
    assert list(values) == pytest.approx([epoch["energy_j"] for epoch in trained.told["figures"]], rel=1e-5)


def test_the_report_counts_steps_and_samples_and_adds_up(trained):
    check_sums(trained)
    profiler_steps = 6  # the last begins with the fifth call of step() and ends with the block
    assert trained.report["steps"]["count"] == EPOCHS * BATCHES + profiler_steps
    assert work(trained)["count"] == EPOCHS * SAMPLES
    assert 0 <= kpi(trained, "accuracy")["last"] <= 1


def test_profiler_steps_are_marked_where_the_trace_has_them(joulery, trained, tmp_path):
    """One offset of clocks serves all steps: the marks stand where the trace's own ProfilerStep#N begin."""
    trace = json.loads((trained.recording.parent / "trace.json").read_text())
    begins = {int(e["name"].split("#")[1]): e["ts"] for e in trace["traceEvents"]
              if e.get("name", "").startswith("ProfilerStep#") and e.get("ph") == "X" and e.get("cat") == "user_annotation"}
    rows = subprocess.run([joulery, "sql", trained.recording, "select value, mono_ns from marks where name = 'ProfilerStep' order by mono_ns",
                           "--json"], capture_output=True, text=True, check=False)
    assert rows.returncode == 0, rows.stderr
    marks = {int(row["value"]): row["mono_ns"] / 1000 for row in map(json.loads, rows.stdout.splitlines())}
    common = sorted(set(begins) & set(marks))
    assert len(common) >= 3, (begins, marks)
    offsets = [begins[n] - marks[n] for n in common]
    assert max(offsets) - min(offsets) < 20_000, offsets  # microseconds; a step takes less than that here only when idle


def test_a_loop_ends_where_energy_is_not_worth_it(joulery, tmp_path):
    need("torch")
    done = train(joulery, tmp_path, """
        import time
        energy = joulery.torch.Energy()
        stop = joulery.torch.StopWhenEnergyNotWorthIt(min_gain_per_kwh=1000, monitor="accuracy")
        for epoch in energy.epochs(10):
            time.sleep(0.6)
            if stop.update([0.5, 0.7][min(epoch, 1)]):
                break
        tell(epoch=epoch, total=energy.total.joules)
    """)
    assert done.told["epoch"] == 2
    assert done.told["total"] == pytest.approx(WATTS * 1.8, rel=0.2)


def test_two_ranks_of_one_host_share_its_joules(joulery, tmp_path):
    need("torch")
    rank = """
        import json, time, torch, torch.distributed as dist, joulery
        dist.init_process_group("gloo")
        torch.manual_seed(dist.get_rank())
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        energy = joulery.torch.Energy()
        for epoch in energy.epochs(2):
            time.sleep(1)
            for batch in energy.steps([torch.rand(16, 8) for _ in range(10)]):
                optimizer.zero_grad(); model(batch).mean().backward(); optimizer.step()
            energy.log(loss=1.0)
        json.dump(energy.figures, open(f"rank{dist.get_rank()}.json", "w"))
        dist.destroy_process_group()
    """
    done = train(joulery, tmp_path, """
        import socket, subprocess, sys
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0)); port = s.getsockname()[1]
        ranks = [subprocess.Popen([sys.executable, "rank.py"], env={**os.environ, "RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "2",
                 "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for r in range(2)]
        assert [r.wait() for r in ranks] == [0, 0]
        tell(ranks=[json.load(open(f"rank{r}.json")) for r in range(2)])
    """, files={"rank.py": rank})
    check_sums(done)
    whole = float(done.report["energy"]["joules"])
    assert whole == pytest.approx(WATTS * float(done.report["duration_s"]), rel=0.05)  # once, not once for each rank
    assert work(done)["count"] == 2 * 2 * 10 * 16
    assert done.report["steps"]["count"] == 2 * 2 * 10
    for epoch in done.told["ranks"][0]:
        check_epoch(epoch, samples=2 * 10 * 16)  # the host's joules by the samples of both
