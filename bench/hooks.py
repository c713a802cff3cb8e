#!/usr/bin/python3
"""What a hook costs a training whose steps take 20 ms: the hook's own time per step over 20 ms, in one run, under `joulery run`.

Each framework's hook is driven as the framework drives it, a thousand steps at a time with the step itself left out, so that what is
measured is the hook alone; the least of several rounds counts, for other programs can only add.
"""
import json
import os
import pathlib
import subprocess
import sys

import stage

STEP_S, LIMIT = 0.020, 0.01
PYTHON = pathlib.Path(os.environ.get("JOULERY_TEST_PYTHON", stage.ROOT / ".venv" / "bin" / "python"))

PRELUDE = """
import json, time, joulery
N, ROUNDS = 1000, 7
def least(begin, step, end):
    best = None
    for _ in range(ROUNDS):
        begin()
        before = time.perf_counter()
        for i in range(N): step(i)
        end()
        took = (time.perf_counter() - before) / N
        best = took if best is None else min(best, took)
    print(json.dumps(best))
"""

HOOKS = {
    "Keras": ("keras", """
import keras
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]); model.compile("sgd", "mse")
hook = joulery.keras.Energy(); hook.set_model(model); hook.on_train_begin()
def step(i): hook.on_train_batch_begin(i); hook.on_train_batch_end(i, {})
least(lambda: hook.on_epoch_begin(0), step, lambda: hook.on_epoch_end(0, {"loss": 1.0}))
"""),
    "PyTorch": ("torch", """
import torch
hook = joulery.torch.Energy(); batch = torch.zeros(64, 8); epochs = hook.epochs(100)
def loop():
    for _ in hook.steps([batch] * N): pass
def step(i):
    if i == 0: loop()
least(lambda: next(epochs), step, lambda: None)
"""),
    "Lightning": ("lightning", """
import torch, types
hook = joulery.lightning.Energy(); batch = torch.zeros(64, 8)
trainer = types.SimpleNamespace(global_step=0, current_epoch=0, callback_metrics={"loss": 1.0})
module = types.SimpleNamespace(log_dict=lambda figures, **options: None)
def step(i): hook.on_train_batch_start(trainer, module, batch, i); trainer.global_step += 1; hook.on_train_batch_end(trainer, module, None, batch, i)
least(lambda: hook.on_train_epoch_start(trainer, module), step, lambda: hook.on_train_epoch_end(trainer, module))
"""),
    "Trainer": ("transformers", """
import types
hook = joulery.transformers.Energy()
args, state = types.SimpleNamespace(train_batch_size=8), types.SimpleNamespace(epoch=0, log_history=[], global_step=0)
def step(i): hook.on_step_begin(args, state, None); hook.on_substep_end(args, state, None); hook.on_step_end(args, state, None)
least(lambda: hook.on_epoch_begin(args, state, None), step, lambda: hook.on_epoch_end(args, state, None))
"""),
    "JAX": ("jax", """
hook = joulery.jax.Energy(); epochs = hook.epochs(100)
def step(i):
    with hook.step(64): pass
least(lambda: next(epochs), step, lambda: None)
"""),
}


def main():
    program = stage.BUILD / "joulery"
    stage.need(str(program))
    stage.home()
    results = []
    for name, (module, code) in HOOKS.items():
        what = f"{name}'s hook, of a 20 ms step"
        environment = {**os.environ, "PYTHONPATH": str(stage.BUILD / "python"), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
        if not PYTHON.exists() or subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode:
            results.append(stage.result(what, f"{PYTHON} has no {module}", f"<= {LIMIT:.0%}", False))
            continue
        done = subprocess.run([program, "run", "--quiet", "--no-save", "--", PYTHON, "-c", PRELUDE + code], capture_output=True, text=True,
                              env=environment, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        took = json.loads(done.stdout.splitlines()[-1])
        results.append(stage.result(what, f"{took / STEP_S:.4%} ({took * 1e6:.2f} us)", f"<= {LIMIT:.0%}", took / STEP_S <= LIMIT))
    stage.tell(results)


if __name__ == "__main__":
    main()
