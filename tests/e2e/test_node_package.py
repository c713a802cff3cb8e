"""The npm package: a Node program's marks in the report, by itself and with TensorFlow.js."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ROOT

NODE = shutil.which("node")
PACKAGE = ROOT / "node"
TFJS = pathlib.Path(os.environ.get("JOULERY_TEST_TFJS", ROOT / "build" / "node" / "node_modules"))

pytestmark = pytest.mark.skipif(NODE is None, reason="no node here: it comes with scripts/setup test")


def script(folder, text):
    file = folder / "program.js"
    file.write_text(f"const joulery = require({json.dumps(str(PACKAGE))});\n{text}")
    return file


def told(run, machine, tmp_path, text, **options):
    file = tmp_path / "node.joulery"
    done = run("run", "--quiet", "--sysroot", machine, "-o", file, "--", NODE, script(tmp_path, text), **options)
    assert done.returncode == 0, done.stderr
    return done, run.report(file)


def test_marks_of_a_node_program_are_in_the_report(run, two_zones, tmp_path):
    done, report = told(run, two_zones, tmp_path, """
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        (async () => {
          for (let i = 0; i < 20; ++i) await joulery.step(() => wait(20), { samples: 32 });
          joulery.step(() => 7);
          joulery.work('token', 512);
          joulery.work('token', 100);
          joulery.kpi('accuracy', 0.5);
          joulery.kpi('accuracy', 0.93);
          joulery.kpi('größe', 1);
          joulery.mark('checkpoint', 3);
          joulery.kpi('rubbish', NaN);
          console.log(joulery.active(), joulery.lost());
        })();""")
    assert done.stdout.split() == ["true", "1"]
    steps = report["steps"]
    assert steps["count"] == 21 and steps["marks_lost"] == 1
    assert 0.02 <= steps["seconds_median"]
    assert {w["unit"]: w["count"] for w in report["work"]} == {"sample": 640, "token": 612}
    assert {k["name"]: k["last"] for k in report["kpis"]} == {"accuracy": 0.93, "größe": 1}
    assert steps["joules_median"] > 0


def test_callbacks_make_steps_of_batches(run, two_zones, tmp_path):
    """As model.fit calls them; the batch that an exception cut short is closed by the next."""
    _, report = told(run, two_zones, tmp_path, """
        const on = joulery.energy();
        for (let epoch = 0; epoch < 3; ++epoch) {
          for (let batch = 0; batch < 10; ++batch) {
            on.onBatchBegin(batch, {});
            if (batch !== 4) on.onBatchEnd(batch, { batch, size: 16, loss: 1 });
          }
          on.onEpochEnd(epoch, { loss: 1 / (epoch + 1), text: 'no number' });
        }
        on.onTrainEnd();""")
    assert report["steps"]["count"] == 30
    assert report["work"][0]["count"] == 27 * 16
    assert {k["name"]: round(k["last"], 6) for k in report["kpis"]} == {"loss": 0.333333}


def test_without_a_ring_nothing_happens(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "JOULERY_RING"}
    for ring in (None, str(tmp_path / "none"), "relative", "/proc"):
        if ring is not None:
            environment["JOULERY_RING"] = ring
        done = subprocess.run([NODE, script(tmp_path, """
            joulery.stepBegin(3); joulery.stepEnd(); joulery.mark('x'); joulery.kpi('a', 1); joulery.work('b', 2);
            joulery.step(() => { });
            console.log(joulery.active(), joulery.lost(), joulery.step(() => 7));""")], env=environment, capture_output=True,
                              text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.split() == ["false", "0", "7"]


def test_errors_of_the_program_are_its_own(run, two_zones, tmp_path):
    done, report = told(run, two_zones, tmp_path, """
        try { joulery.step(() => { throw new Error('mine'); }); } catch (e) { console.log(e.message); }
        joulery.step(() => Promise.reject(new Error('late'))).catch((e) => console.log(e.message));""")
    assert done.stdout.split() == ["mine", "late"]
    assert report["steps"]["count"] == 2


def test_a_worker_thread_has_a_ring_of_its_own(run, two_zones, tmp_path):
    _, report = told(run, two_zones, tmp_path, """
        const { Worker, isMainThread } = require('worker_threads');
        for (let i = 0; i < 5; ++i) joulery.step(() => { });
        if (isMainThread) new Worker(__filename);""")
    assert report["steps"]["count"] == 10 and report["steps"]["marks_lost"] == 0


def test_a_full_ring_drops_and_counts(run, two_zones, tmp_path):
    """Between two looks of the reader (100 ms and more) a busy loop fills 32,768 records; none is counted twice."""
    done, report = told(run, two_zones, tmp_path, """
        for (let i = 0; i < 200000; ++i) joulery.work('unit', 1);
        console.log(joulery.lost());""")
    lost = int(done.stdout)
    assert report["steps"]["marks_lost"] == lost
    assert report["work"][0]["count"] == 200000 - lost


def test_tensorflow_js_trains_with_the_callbacks(run, two_zones, tmp_path):
    if not (TFJS / "@tensorflow" / "tfjs").exists():
        pytest.skip("TensorFlow.js is not installed: scripts/setup test installs it where the npm registry can be reached")
    _, report = told(run, two_zones, tmp_path, f"""
        const tf = require({json.dumps(str(TFJS / '@tensorflow' / 'tfjs'))});
        (async () => {{
          const model = tf.sequential({{ layers: [tf.layers.dense({{ units: 4, inputShape: [3], activation: 'relu' }}),
                                                 tf.layers.dense({{ units: 1 }})] }});
          model.compile({{ optimizer: 'sgd', loss: 'meanSquaredError' }});
          const x = tf.randomUniform([100, 3]), y = x.sum(1, true);
          await model.fit(x, y, {{ epochs: 3, batchSize: 16, verbose: 0, yieldEvery: 'never', callbacks: joulery.energy() }});
        }})();""")
    assert report["steps"]["count"] == 3 * 7  # 6 batches of 16 and one of 4
    assert {w["unit"]: w["count"] for w in report["work"]} == {"sample": 300}
    assert [k["name"] for k in report["kpis"]] == ["loss"]
    assert report["kpis"][0]["last"] < 2
