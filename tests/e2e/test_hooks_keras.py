# scripts/test: timeout=600
"""joulery.keras with the real Keras on TensorFlow: model.fit with one callback, a loop of one's own, TensorBoard, early stopping."""
import json
import subprocess

import pytest
from frameworks import PRELUDE, WATTS, check_epoch, check_sums, environment, kpi, need, python, train, work

SAMPLES, BATCH, EPOCHS = 1000, 64, 3
STEPS = -(-SAMPLES // BATCH)  # the last batch is a short one


@pytest.fixture(scope="module")
def trained(joulery, tmp_path_factory):
    need("tensorflow", "keras", "tensorboard")
    return train(joulery, tmp_path_factory.mktemp("keras"), f"""
        import glob, time
        import keras, numpy, tensorflow
        keras.utils.set_random_seed(1)
        x = numpy.random.rand({SAMPLES}, 8).astype("float32")
        y = (x.sum(1) > 4).astype("float32")
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        class Slow(keras.callbacks.Callback):  # an epoch of a known least length
            def on_epoch_begin(self, epoch, logs=None):
                time.sleep(1.0)
        energy = joulery.keras.Energy()
        board = keras.callbacks.TensorBoard("logs")
        history = model.fit(x, y, batch_size={BATCH}, epochs={EPOCHS}, validation_data=(x[:100], y[:100]), verbose=0,
                            callbacks=[energy, Slow(), board]).history
        steps = energy._epochs.steps
        # Loops of one's own.
        own = joulery.keras.Loop(trackers=joulery.trackers.TensorBoard("own"))
        data = tensorflow.data.Dataset.from_tensor_slices((x, y)).batch({BATCH})
        for epoch in own.epochs(2):
            time.sleep(0.5)
            for images, labels in own.steps(data):
                model.train_on_batch(images, labels)
            own.log(own_accuracy=0.5 + epoch / 10)
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        def scalars(folder, tag):
            events = EventAccumulator(folder); events.Reload()
            if tag in events.Tags()["scalars"]:
                return [e.value for e in events.Scalars(tag)]
            return [float(tensorflow.make_ndarray(e.tensor_proto)) for e in events.Tensors(tag)]
        tell(history=history, epochs=energy.epochs, total=energy.total.joules, own=own.figures, own_total=own.total.joules,
             board=scalars("logs/train", "epoch_energy_j"), own_board=scalars("own", "joulery/energy_j"))
    """)


def test_each_epoch_has_its_energy_by_the_power_of_the_machine(trained):
    epochs = trained.told["epochs"]
    assert [figures["epoch"] for figures in epochs] == list(range(EPOCHS))
    for figures in epochs:
        check_epoch(figures, samples=SAMPLES)
    assert sum(figures["energy_j"] for figures in epochs) <= trained.told["total"] * 1.02


def test_keras_own_history_has_the_figures(trained):
    history = trained.told["history"]
    for name in ("energy_j", "j_per_sample", "watts", "loss", "val_accuracy"):
        assert len(history[name]) == EPOCHS, name
    assert history["energy_j"] == [figures["energy_j"] for figures in trained.told["epochs"]]
    assert all(abs(watts - WATTS) < 0.1 * WATTS for watts in history["watts"])


def test_a_tensorboard_callback_gets_them_too(trained):
    scalars = trained.told["board"]
    assert len(scalars) == EPOCHS
    assert scalars == pytest.approx(trained.told["history"]["energy_j"], rel=1e-5)
    assert trained.told["own_board"] == pytest.approx([f["energy_j"] for f in trained.told["own"]], rel=1e-5)


def test_the_report_counts_every_step_and_sample_and_adds_up(trained):
    check_sums(trained)
    assert trained.report["steps"]["count"] == STEPS * (EPOCHS + 2)
    assert trained.report["steps"]["marks_lost"] == 0
    assert work(trained)["count"] == SAMPLES * (EPOCHS + 2)


def test_metrics_become_kpis_by_themselves(trained):
    assert abs(float(kpi(trained, "val_accuracy")["last"]) - trained.told["history"]["val_accuracy"][-1]) < 1e-6
    assert kpi(trained, "loss")["joules_at_last"] > 0
    assert float(kpi(trained, "own_accuracy")["last"]) == 0.6
    assert not [row for row in trained.report["kpis"] if row["name"] == "energy_j"]


def test_a_loop_of_ones_own_has_epochs(trained):
    assert [figures["epoch"] for figures in trained.told["own"]] == [0, 1]
    for figures in trained.told["own"]:
        check_epoch(figures, samples=SAMPLES)


def test_training_ends_where_energy_is_not_worth_it(joulery, tmp_path):
    need("tensorflow", "keras")
    done = train(joulery, tmp_path, """
        import time
        import keras, numpy
        class Figures(keras.callbacks.Callback):  # 0.5, 0.7, then nothing more is gained
            def on_epoch_end(self, epoch, logs=None):
                time.sleep(0.6)
                logs["val_accuracy"] = [0.5, 0.7][min(epoch, 1)]
        x = numpy.zeros((8, 2), "float32")
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        # 0.6 s at 23 W are 3.8e-6 kWh: the second epoch gains some 52,000 per kWh, the third nothing.
        stop = joulery.keras.StopWhenEnergyNotWorthIt(min_gain_per_kwh=1000, monitor="val_accuracy", patience=2)
        history = model.fit(x, x[:, :1], epochs=12, verbose=0, callbacks=[Figures(), joulery.keras.Energy(), stop])
        tell(epochs=len(history.epoch), at=stop.stopped_epoch, gain=stop.worth.gain_per_kwh)
    """)
    assert done.told == {"epochs": 4, "at": 3, "gain": 0.0}


def test_without_a_run_the_callback_measures_by_itself(run, tmp_path):
    need("tensorflow", "keras")
    code = PRELUDE + """
import time
import keras, numpy
x = numpy.zeros((8, 2), "float32")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Slow(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None): time.sleep(0.7)
energy = joulery.keras.Energy()
history = model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[energy, Slow()]).history
assert joulery.energy().joules is None  # nobody measures any more
tell(epochs=energy.epochs, history=history)
"""
    (tmp_path / "t.py").write_text(code)
    done = subprocess.run([python(), tmp_path / "t.py"], env={**run.environment, **environment(), "TOLD": str(tmp_path / "told.json")},
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    for figures in told["epochs"]:
        if figures["energy_j"] is None:  # a machine of which nothing is known, not even by a model
            assert "energy_j" not in told["history"] and "not known" in done.stderr
            assert figures["quality"] == "missing"
        else:
            assert figures["energy_j"] > 0 and figures["seconds"] >= 0.7
