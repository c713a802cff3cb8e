# scripts/test: timeout=600
"""`joulery run --profile DIR` around trainings whose only word about it is a hook: the trace comes by itself, and its table with joules."""
import re
import textwrap

import pytest
from conftest import TWO_ZONES, Runner
from frameworks import environment, need, python
from scripted_tree import ScriptedTree

WARMUP, STEPS = 4, 12


def profiled(joulery, folder, code, env=None):
    """stderr of a run with --profile: warm-up and window by the variables, and more steps than both."""
    runner, script = Runner(joulery, folder), folder / "train.py"
    script.write_text("import joulery\n" + textwrap.dedent(code))
    with ScriptedTree(str(folder / "machine"), TWO_ZONES):
        done = runner("run", "--no-save", "--sysroot", folder / "machine", "--profile", folder / "traces", "--", python(), script, cwd=folder,
                      timeout=240, env={**environment(), "JOULERY_PROFILE_WARMUP": str(WARMUP), "JOULERY_PROFILE_STEPS": str(STEPS),
                                        **(env or {})})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "joulery: no profile" not in done.stderr, done.stderr
    return done.stderr


def check_table(said, operator):
    """After the summary comes the trace with the run's joules: all steps of the window, the operators, the gaps."""
    summary, steps, operators = re.fullmatch(r"(.*)\n  Step  (.*)\n  Operator  (.*)", said, re.DOTALL).groups()
    assert re.search(r"\n  Energy +.*J", summary)
    assert steps.count("measured") + int(re.search(r"and (\d+) more\n\n  Phase", steps).group(1)) == STEPS + 4  # of them, four phases
    assert re.search(rf"\n +\S*{operator}\S* +\d+(\.\d+)? [mµ]?J ", operators), operators
    assert "nothing traced ran" in operators and re.search(r"\n  Clock +by", operators)


TORCH = """
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    energy = joulery.torch.Energy(trackers=None)
    for epoch in energy.epochs(2):
        for x in energy.steps(torch.rand(64, 64) for _ in range(15)):
            for _ in range(20):
                optimizer.zero_grad()
                net(x).square().mean().backward()
                optimizer.step()
"""


def test_pytorch_with_its_hook_alone(joulery, tmp_path):
    need("torch")
    check_table(profiled(joulery, tmp_path, TORCH), "aten::addmm")
    assert [path.name.endswith(".pt.trace.json") for path in (tmp_path / "traces").iterdir()] == [True]


def test_keras_with_its_callback_alone(joulery, tmp_path):
    need("tensorflow", "keras")
    said = profiled(joulery, tmp_path, """
        import keras, numpy
        model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(),
                                  keras.layers.Dense(10)])
        model.compile("sgd", "mse")
        x, y = numpy.random.rand(960, 28, 28, 1).astype("float32"), numpy.random.rand(960, 10).astype("float32")
        model.fit(x, y, batch_size=64, epochs=2, verbose=0, callbacks=[joulery.keras.Energy()])
    """)
    check_table(said, "Conv2D")


def test_jax_with_its_loop_alone(joulery, tmp_path):
    need("jax")
    said = profiled(joulery, tmp_path, """
        import jax, jax.numpy as jnp
        update = jax.jit(lambda w, x: w - 0.01 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w))
        x, w = jnp.ones((1024, 512)), jnp.ones((512, 256))
        energy = joulery.jax.Energy(trackers=None)
        for epoch in energy.epochs(1):
            for _ in range(30):
                with energy.step(samples=1024) as step:
                    w = step.ready(update(w, x))
    """)
    check_table(said, "dot")


@pytest.mark.parametrize("code", ["", TORCH], ids=["no hook", "hook kept out"])
def test_without_a_trace_the_run_says_what_to_add(joulery, tmp_path, code):
    """A program without a hook; one whose hook is told to keep out."""
    if code:
        need("torch")
    said = profiled(joulery, tmp_path, code, {"JOULERY_PROFILE_STEPS": "0"})
    assert "the command wrote no profile" in said and "joulery.keras.Energy()" in said and "JOULERY_PROFILE" in said
    assert "Energy" in said  # the run counts as it is


def test_a_profiler_of_the_programs_own_is_left_alone(joulery, tmp_path):
    need("torch")
    own = TORCH.replace("    energy =", "    profiler = torch.profiler.profile(); profiler.start()\n    energy =")
    runner, script = Runner(joulery, tmp_path), tmp_path / "train.py"
    script.write_text("import joulery\n" + textwrap.dedent(own) + "profiler.stop()\nprint(len(profiler.key_averages()) > 3)\n")
    with ScriptedTree(str(tmp_path / "machine"), TWO_ZONES):
        done = runner("run", "--no-save", "--sysroot", tmp_path / "machine", "--profile", tmp_path / "traces", "--", python(), script,
                      cwd=tmp_path, timeout=240, env=environment())
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr
    assert done.stderr.count("a profiler of the program's own is running") == 1
