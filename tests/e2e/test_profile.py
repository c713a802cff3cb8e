# scripts/test: timeout=600
"""joulery profile with real traces: torch.profiler's Kineto, tf.profiler's xplane.pb, XProf as the judge of the copy, the JSON's schema."""
import decimal
import gzip
import json
import subprocess

import jsonschema
import pytest
from conftest import ROOT, Runner
from frameworks import WATTS, environment, need, python, train

SCHEMA = json.loads((ROOT / "data" / "schemas" / "profile.json").read_text(encoding="utf-8"))
STEPS = 6


def profile(runner, trace, *words):
    """The JSON of `joulery profile`, which fits its schema."""
    text = runner("profile", trace, "--json", *words, check=0).stdout
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    return json.loads(text, parse_float=decimal.Decimal)


def check_sums(told):
    """Operators, layers and phases each sum with the gaps to the energy, to the microjoule."""
    whole = told["energy"]["joules"]
    gaps = sum(gap["joules"] for gap in told["gaps"])
    assert whole > 0
    assert sum(row["joules"] for row in told["operators"]) + gaps == whole
    assert sum(row["joules"] for row in told["layers"]) + gaps == whole
    assert sum(row["joules"] for row in told["phases"]) == whole
    assert sum(side["joules"] for side in told["sides"]) == whole


def check_known_power(told):
    """The scripted machine burns a constant power, so time tells every energy."""
    seconds = float(told["trace"]["duration_s"])
    assert float(told["energy"]["joules"]) == pytest.approx(WATTS * seconds, rel=0.1, abs=0.2)
    for step in told["steps"]:
        assert float(step["joules"]) == pytest.approx(WATTS * float(step["duration_s"]), rel=0.15, abs=0.2)


@pytest.fixture(scope="module")
def kineto(joulery, tmp_path_factory):
    need("torch")
    folder = tmp_path_factory.mktemp("kineto")
    trained = train(joulery, folder, f"""
        import torch, time
        from torch.profiler import profile, schedule, ProfilerActivity
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(64, 512), torch.nn.Linear(512, 8)
            def forward(self, x):
                return self.second(torch.relu(self.first(x)))
        net = Net(); optimizer = torch.optim.SGD(net.parameters(), 0.01)
        with profile(activities=[ProfilerActivity.CPU], with_stack=True, with_modules=True, profile_memory=True,
                     schedule=schedule(wait=1, warmup=1, active={STEPS}, repeat=1),
                     on_trace_ready=lambda p: p.export_chrome_trace("trace.json")) as profiler:
            for _ in range({STEPS} + 2):
                with joulery.step(samples=256):
                    for _ in range(20):
                        optimizer.zero_grad()
                        loss = net(torch.rand(256, 64)).square().mean()
                        loss.backward()
                        optimizer.step()
                profiler.step()
        tell(done=True)
    """)
    return Runner(joulery, folder), folder / "trace.json", trained.recording


def test_a_kineto_trace_goes_the_whole_road(kineto):
    runner, trace, recording = kineto
    told = profile(runner, trace, "--recording", recording)
    assert told["trace"]["format"] == "kineto" and told["trace"]["clock"] == "wall"
    assert told["recording"]["clock"] == "marks"     # steps that the program marked are the profiler's
    assert float(told["recording"]["clock_error_s"]) < 0.05
    assert [step["name"].split("#")[0] for step in told["steps"]] == ["ProfilerStep"] * STEPS
    check_sums(told)
    check_known_power(told)
    layers = {row["path"] for row in told["layers"]}
    assert {"Net_0/Linear_0", "Net_0/Linear_1"} <= layers
    assert any(row["name"] == "aten::addmm" and row["calls"] == 2 * 20 * STEPS for row in told["operators"])
    assert told["memory"][0]["side"] == "host" and told["memory"][0]["peak_used_bytes"] > 0


def test_without_a_recording_there_is_time_alone_and_it_says_so(kineto):
    runner, trace, _ = kineto
    told = profile(runner, trace)
    assert told["recording"] is None and told["energy"]["joules"] is None
    assert all(row["joules"] is None for row in told["operators"])
    text = runner("profile", trace, check=0).stdout
    assert "time alone" in text and " J " not in text


def test_the_kineto_copy_is_the_trace_with_joules(kineto, tmp_path):
    runner, trace, recording = kineto
    copy = tmp_path / "copy.json.gz"
    told = json.loads(runner("profile", trace, "--recording", recording, "--json", "-o", copy, check=0).stdout)
    was, now = json.loads(trace.read_text()), json.load(gzip.open(copy, "rt"))
    events = now["traceEvents"]
    added = ("energy_j", "energy_self_j", "energy_quality")
    stripped = [{**e, "args": {k: v for k, v in e.get("args", {}).items() if k not in added}} for e in events[:len(was["traceEvents"])]]
    assert stripped == [{**e, "args": e.get("args", {})} for e in was["traceEvents"]]
    own = sum(e.get("args", {}).get("energy_self_j", 0) for e in events)
    assert own == pytest.approx(sum(row["joules"] for row in told["operators"]), rel=1e-3, abs=1e-4)
    assert any(e["ph"] == "C" and e["name"] == "power node/cpu/package-0" and e["args"]["W"] > 0 for e in events)


def efficiency(runner, trace, *words):
    """The JSON of the efficiency report, which fits its schema."""
    told = json.loads(runner("profile", trace, "--report", "efficiency", "--json", *words, check=0).stdout)
    schema = json.loads((ROOT / "data" / "schemas" / "efficiency.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(told)
    assert set(told) == set(schema["properties"])    # the schema names every field
    return told


def test_the_efficiency_report_fits_its_schema(kineto):
    runner, trace, recording = kineto
    told = efficiency(runner, trace, "--recording", recording, "--samples", 256 * 20)
    assert told["steps"] == STEPS and told["joules_per_sample"] == pytest.approx(told["joules_per_step"] / (256 * 20))
    assert told["joules_per_step"] * told["steps_per_second"] == pytest.approx(WATTS, rel=0.1)    # the machine's constant power
    assert told["devices"][0]["device"] == -1 and told["devices"][0]["peak_used_bytes"] > 0
    assert told["launch_s_per_kernel"] is None and told["start_up_s"] is None                    # there is no accelerator
    alone = efficiency(runner, trace)
    assert alone["joules"] is None and alone["joules_per_step"] is None and alone["steps_per_second"] == told["steps_per_second"]


@pytest.mark.parametrize("name", ["alexnet--benchmark_result_2869224_1695835535_trace.json.gz", "control--control.json.gz",
                                  "amd_trace--mi250_minitoy_train_ROCm6_2_kineto.json.gz"])
def test_the_efficiency_of_accelerators_fits_its_schema(run, name):
    folder = ROOT.parent / "shared" / "data" / "profiles" / "kineto"
    if not folder.exists():
        pytest.skip("skipped: no ../shared")
    told = efficiency(run, folder / name)
    assert told["launch_s_per_kernel"] > 0 and told["start_up_s"] > 0
    assert any(device["device"] >= 0 and device["busy"] > 0 for device in told["devices"])


def test_a_recording_of_another_run_is_refused(kineto, recording):
    runner, trace, _ = kineto
    done = runner("profile", trace, "--recording", recording[1])
    assert done.returncode == 2 and "not of the same time" in done.stderr


def test_run_tells_the_profile_that_the_command_left(run, two_zones, tmp_path):
    script = "import json, os, time; t = time.time_ns(); time.sleep(0.5); json.dump({'traceEvents': [{'ph': 'X', 'cat': 'cpu_op', " \
             "'name': 'aten::mm', 'pid': 1, 'tid': 1, 'ts': 0, 'dur': 400000}], 'baseTimeNanoseconds': t}, " \
             "open(os.environ['JOULERY_PROFILE'] + '/a.pt.trace.json', 'w'))"
    words = ["--sysroot", two_zones, "--profile", tmp_path / "traces", "--no-save", "--"]
    done = run("run", *words, "/usr/bin/python3", "-c", script, check=0)
    assert "aten::mm" in done.stderr and "Clock" in done.stderr
    done = run("run", *words, "true", check=0)      # the trace of the run before is not this one's
    assert "wrote no profile" in done.stderr and "aten::mm" not in done.stderr


@pytest.fixture(scope="module")
def xplane(joulery, tmp_path_factory):
    need("tensorflow")
    folder = tmp_path_factory.mktemp("xplane")
    trained = train(joulery, folder, f"""
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.Input((28, 28, 1)), tf.keras.layers.Conv2D(8, 3, activation="relu", name="conv"),
                                     tf.keras.layers.Flatten(), tf.keras.layers.Dense(10, name="head")])
        model.compile("sgd", "mse")
        x, y = tf.random.uniform((64, 28, 28, 1)), tf.random.uniform((64, 10))
        model.train_on_batch(x, y)
        tf.profiler.experimental.start("profile")
        for step in range({STEPS}):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                for _ in range(4):
                    model.train_on_batch(x, y)
        tf.profiler.experimental.stop()
        tell(done=True)
    """)
    return Runner(joulery, folder), folder / "profile", trained.recording


def test_a_tensorflow_profile_goes_the_whole_road(xplane):
    runner, folder, recording = xplane
    told = profile(runner, folder, "--recording", recording)
    assert told["trace"]["format"] == "xplane" and told["trace"]["framework"] == "tensorflow"
    assert told["recording"]["clock"] == "wall"
    assert [step["number"] for step in told["steps"]] == list(range(STEPS))
    check_sums(told)
    check_known_power(told)
    assert any("Conv2D" in row["name"] for row in told["operators"])
    assert any("conv" in (row["path"] or "") for row in told["layers"])


# What XProf's own tools make of a file: its reader is the judge of ours.
XPROF = """
import json, sys
from xprof.convert import raw_to_tool_data
told = {}
for tool in sys.argv[2].split(","):
    data, kind = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], tool, {})
    told[tool] = data if isinstance(data, str) else (data or b"").decode()
print("TOLD" + json.dumps(told))
"""


def xprof(file, *tools):
    done = subprocess.run([python(), "-c", XPROF, file, ",".join(tools)], capture_output=True, text=True, timeout=240,
                          env={**environment(), "PATH": "/usr/bin:/bin", "HOME": str(file.parent)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("TOLD") + 4:])


def test_xprof_opens_the_copy_and_shows_the_energy(xplane, tmp_path):
    need("xprof")
    runner, folder, recording = xplane
    copy = tmp_path / "host.xplane.pb"
    told = json.loads(runner("profile", folder, "--recording", recording, "--json", "-o", copy, check=0).stdout)
    tools = xprof(copy, "trace_viewer", "overview_page", "framework_op_stats", "op_profile", "hlo_stats")
    assert all(tools.values())
    events = json.loads(tools["trace_viewer"])["traceEvents"]
    own = sum(float(e["args"]["energy_self_j"]) for e in events if "energy_self_j" in e.get("args", {}))
    assert own == pytest.approx(sum(row["joules"] for row in told["operators"]), rel=0.02, abs=0.01)
    steps = [float(e["args"]["energy_j"]) for e in events if e.get("name", "").startswith("train ") and "energy_j" in e.get("args", {})]
    assert sum(steps) == pytest.approx(sum(step["joules"] for step in told["steps"]), rel=1e-3)
    # The copy is a profile like any other.
    again = profile(runner, copy)
    assert again["trace"]["events"] == told["trace"]["events"] and len(again["steps"]) == STEPS


# A device's plane as XLA writes it: two operators that take turns, ten times a tenth of a second, 60 ms each.
DEVICE = """
import sys
from tensorflow.tsl.profiler.protobuf import xplane_pb2
space = xplane_pb2.XSpace()
plane = space.planes.add(id=1, name="/device:TPU:0")
ids = {name: i + 1 for i, name in enumerate(["hlo_category", "program_id", "symbol_id", "flops", "bytes_accessed", "tf_op"])}
for name, i in ids.items():
    plane.stat_metadata[i].id, plane.stat_metadata[i].name = i, name
for k, name in enumerate(["fusion.1", "convolution.2"]):
    meta = plane.event_metadata[k + 1]
    meta.id, meta.name, meta.display_name = k + 1, f"%{name} = f32[] fusion()", name
    for stat, value in (("program_id", 1), ("symbol_id", k + 1), ("flops", 1000), ("bytes_accessed", 100)):
        meta.stats.add(metadata_id=ids[stat], int64_value=value)
    meta.stats.add(metadata_id=ids["hlo_category"], str_value="fusion")
    meta.stats.add(metadata_id=ids["tf_op"], str_value=f"net/op{k}:Op")
line = plane.lines.add(id=1, name="XLA Ops", timestamp_ns=1772359202_000000000)   # 2026-03-01 10:00:02 UTC
for i in range(10):
    line.events.add(metadata_id=1 + i % 2, offset_ps=i * 10**11, duration_ps=6 * 10**10)
open(sys.argv[1], "wb").write(space.SerializeToString())
"""


def test_xprofs_own_energy_column_shows_the_joules_of_a_devices_operators(run, tmp_path):
    need("tensorflow", "xprof")
    trace, log, recording, copy = (tmp_path / name for name in ("host.xplane.pb", "gpu.csv", "gpu.joulery", "copy.xplane.pb"))
    subprocess.run([python(), "-c", DEVICE, trace], check=True, capture_output=True, timeout=240, env={**environment(), "PATH": "/usr/bin:/bin"})
    # A log of 100 W, the accelerator's, over that time.
    log.write_text("timestamp, index, power.draw [W]\n" + "".join(f"2026/03/01 10:00:{s:02}.000, 0, 100.00 W\n" for s in range(8)))
    run("import", log, "-o", recording, "--utc-offset", "+00:00", check=0)
    run("profile", trace, "--recording", recording, "-o", copy, check=0)
    table = json.loads(xprof(copy, "hlo_stats")["hlo_stats"])
    columns = [column["id"] for column in table["cols"]]
    energy = {row["c"][columns.index("hlo_op_name")]["v"]: row["c"][columns.index("vdd_energy")]["v"] for row in table["rows"]}
    # Five times 60 ms of 100 W each: what runs pays for all that the device burns meanwhile.
    assert energy == {"fusion.1": pytest.approx(30, abs=0.3), "convolution.2": pytest.approx(30, abs=0.3)}
