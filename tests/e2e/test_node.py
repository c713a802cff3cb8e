# scripts/test: timeout=300
"""The npm package under `joulery run`: marks, live energy, a real TensorFlow.js model."""
import decimal
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import TWO_ZONES, Runner, built
from scripted_tree import ScriptedTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
WATTS = sum(watts for _, _, watts in TWO_ZONES)
TFJS = "4.22.0"


@pytest.fixture(scope="module")
def node():
    found = shutil.which("node")
    if found is None:
        pytest.skip("skipped: no node (apt-get install nodejs)")
    return found


def run_node(joulery, node, folder, code, env=None):
    """What `code` printed as its last line of JSON, and the report."""
    runner = Runner(joulery, folder)
    (folder / "program.js").write_text(f"const joulery = require({json.dumps(str(ROOT / 'node'))});\n" + code)
    with ScriptedTree(str(folder / "machine"), TWO_ZONES):
        done = runner("run", "--quiet", "--sysroot", folder / "machine", "-o", folder / "run.joulery", "--", node, folder / "program.js",
                      timeout=200, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(runner("report", folder / "run.joulery", "--json", check=0).stdout, parse_float=decimal.Decimal)
    return json.loads(done.stdout.splitlines()[-1]), report


def test_marks_of_every_kind_arrive(joulery, node, tmp_path):
    told, report = run_node(joulery, node, tmp_path, """
        for (let i = 0; i < 100; ++i) {
          const step = joulery.step(8);
          const inner = joulery.step(3, 'token');
          inner.end(); inner.end();
          step.end();
        }
        joulery.kpi('accuracy', 0.5); joulery.kpi('accuracy', 0.75);
        joulery.work(5); joulery.mark('here');
        joulery.kpi('bad', NaN); joulery.kpi('', 1);
        joulery.kpi('\\u20ac'.repeat(60), 1);
        console.log(JSON.stringify({active: joulery.active(), lost: joulery.lost()}));
    """)
    assert told == {"active": True, "lost": 2}
    assert report["steps"]["count"] == 100 and report["steps"]["marks_lost"] == 2
    assert {row["unit"]: row["count"] for row in report["work"]} == {"sample": 805, "token": 300}
    names = {row["name"]: row["last"] for row in report["kpis"]}
    assert names["accuracy"] == decimal.Decimal("0.75")
    assert "€" * 39 in names  # 119 bytes of UTF-8, no sequence cut
    assert sum(phase["joules"] for phase in report["phases"]) == report["energy"]["joules"]


def test_more_marks_than_a_ring_holds_are_drained_or_counted(joulery, node, tmp_path):
    told, report = run_node(joulery, node, tmp_path, """
        for (let i = 0; i < 50000; ++i) joulery.step(1).end();
        console.log(JSON.stringify({lost: joulery.lost()}));
    """)
    assert told["lost"] == report["steps"]["marks_lost"]
    assert 2 * report["steps"]["count"] + told["lost"] >= 100000 - told["lost"]
    assert report["steps"]["count"] > 16000


def test_energy_so_far_is_that_of_the_machine(joulery, node, tmp_path):
    told, _ = run_node(joulery, node, tmp_path, """
        setTimeout(() => {
          const before = joulery.energy();
          setTimeout(() => console.log(JSON.stringify(joulery.spent(before, joulery.energy()))), 1000);
        }, 500);
    """)
    assert told["quality"] == "measured" and told["reason"] == ""
    assert told["joules"] == pytest.approx(WATTS * told["seconds"], rel=0.1)


def test_without_a_run_nothing_is_marked_and_nothing_known(node):
    code = f"const j = require({json.dumps(str(ROOT / 'node'))}); j.step(1).end(); j.kpi('a', 1);" \
           "console.log(JSON.stringify([j.active(), j.lost(), j.energy().joules, j.energy().reason, j.spent(j.energy(), j.energy()).joules]))"
    clean = {name: value for name, value in os.environ.items() if name != "JOULERY_RING"}
    for environment in (clean, {**clean, "JOULERY_RING": "/not/there"}, {**clean, "JOULERY_RING": "relative"}):
        done = subprocess.run([node, "-e", code], env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        active, lost, joules, reason, spent = json.loads(done.stdout)
        assert (active, lost, joules, spent) == (False, 0, None, None) and reason


def tensorflow_js():
    """A folder that has TensorFlow.js in its node_modules: $JOULERY_TEST_TFJS, else one that npm fills once; skips where that fails."""
    given = os.environ.get("JOULERY_TEST_TFJS")
    folder = pathlib.Path(given) if given else built("joulery").parent / "tfjs"
    if (folder / "node_modules" / "@tensorflow" / "tfjs" / "package.json").exists():
        return folder
    if given or shutil.which("npm") is None:
        pytest.skip("skipped: no TensorFlow.js, and no npm to install it")
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, f"@tensorflow/tfjs@{TFJS}"],
                          capture_output=True, text=True, timeout=180, check=False)
    if done.returncode != 0:
        pytest.skip(f"skipped: npm cannot install TensorFlow.js: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def test_a_tensorflow_js_model_trains_with_the_callback(joulery, node, tmp_path):
    modules = tensorflow_js() / "node_modules"
    told, report = run_node(joulery, node, tmp_path, f"""
        const tf = require({json.dumps(str(modules / '@tensorflow' / 'tfjs'))});
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        (async () => {{
          const model = tf.sequential({{layers: [tf.layers.dense({{units: 4, inputShape: [3], activation: 'relu'}}), tf.layers.dense({{units: 1}})]}});
          model.compile({{optimizer: 'sgd', loss: 'meanSquaredError'}});
          const x = tf.randomUniform([50, 3]), y = x.sum(1, true);
          const callbacks = joulery.tfjs();
          const begin = callbacks.onEpochBegin;
          const history = await model.fit(x, y, {{batchSize: 16, epochs: 2, verbose: 0,
            callbacks: {{...callbacks, onEpochBegin: async (epoch) => {{ await begin(epoch); await wait(800); }}}}}});
          console.log(JSON.stringify({{epochs: callbacks.epochs, history: history.history}}));
        }})();
    """)
    assert [epoch["samples"] for epoch in told["epochs"]] == [50, 50]
    for epoch in told["epochs"]:
        assert epoch["energy_j"] == pytest.approx(WATTS * epoch["seconds"], rel=0.1)
        assert epoch["j_per_sample"] == pytest.approx(epoch["energy_j"] / 50)
    assert told["history"]["energy_j"] == [epoch["energy_j"] for epoch in told["epochs"]]
    assert report["steps"]["count"] == 2 * 4  # 50 in batches of 16
    assert {row["unit"]: row["count"] for row in report["work"]} == {"sample": 100}
    loss, = [row for row in report["kpis"] if row["name"] == "loss"]
    assert float(loss["last"]) == pytest.approx(told["history"]["loss"][-1])
