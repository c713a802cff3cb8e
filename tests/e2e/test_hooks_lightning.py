# scripts/test: timeout=600
"""joulery.lightning with the real Lightning: gradient accumulation, validation, its logger, early stopping."""
import pytest
from frameworks import check_epoch, check_sums, kpi, need, train, work

SAMPLES, BATCH, ACCUMULATION, EPOCHS = 44, 4, 2, 2
STEPS = 6

MODEL = """
import logging, time, warnings
import torch, lightning
from lightning.pytorch.loggers import CSVLogger
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.manual_seed(1)
x = torch.rand(%d, 8); y = x.sum(1, keepdim=True)
data = torch.utils.data.TensorDataset(x, y)
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__(); self.layer = torch.nn.Linear(8, 1)
    def on_train_epoch_start(self): time.sleep(1.0)
    def training_step(self, batch, number):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1]); self.log("train_loss", loss); return loss
    def validation_step(self, batch, number):
        self.log("val_loss", torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1]))
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
def fit(callbacks, logger=False, **options):
    trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=logger, callbacks=callbacks, enable_progress_bar=False,
                                enable_model_summary=False, enable_checkpointing=False, log_every_n_steps=1, **options)
    loader = torch.utils.data.DataLoader(data, batch_size=%d)
    trainer.fit(Model(), loader, loader)
    return trainer
""" % (SAMPLES, BATCH)


@pytest.fixture(scope="module")
def trained(joulery, tmp_path_factory):
    need("lightning", "torch")
    return train(joulery, tmp_path_factory.mktemp("lightning"), MODEL + f"""
import csv
energy = joulery.lightning.Energy()
trainer = fit([energy], CSVLogger(".", name="csv", version=0), accumulate_grad_batches={ACCUMULATION}, max_epochs={EPOCHS})
rows = list(csv.DictReader(open("csv/version_0/metrics.csv")))
tell(epochs=energy.epochs, total=energy.total.joules, steps=trainer.global_step,
     logged=[float(row["energy_j"]) for row in rows if row.get("energy_j")], val_loss=float(trainer.callback_metrics["val_loss"]))
""")


def test_each_epoch_has_its_energy_by_the_power_of_the_machine(trained):
    assert [figures["epoch"] for figures in trained.told["epochs"]] == list(range(EPOCHS))
    for figures in trained.told["epochs"]:
        check_epoch(figures, samples=SAMPLES)


def test_its_logger_has_the_figures(trained):
    assert trained.told["logged"] == pytest.approx([figures["energy_j"] for figures in trained.told["epochs"]], rel=1e-5)


def test_a_step_is_not_a_batch_and_all_adds_up(trained):
    check_sums(trained)
    assert trained.told["steps"] == STEPS * EPOCHS
    assert trained.report["steps"]["count"] == STEPS * EPOCHS
    assert work(trained)["count"] == SAMPLES * EPOCHS


def test_metrics_become_kpis(trained):
    assert float(kpi(trained, "val_loss")["last"]) == pytest.approx(trained.told["val_loss"], rel=1e-5)


def test_training_ends_where_energy_is_not_worth_it(joulery, tmp_path):
    need("lightning", "torch")
    done = train(joulery, tmp_path, MODEL + """
stop = joulery.lightning.StopWhenEnergyNotWorthIt(min_gain_per_kwh=1e9)
trainer = fit([stop], max_epochs=9)
tell(at=stop.stopped_epoch)
""")
    assert done.told["at"] == 1
