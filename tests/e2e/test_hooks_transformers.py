# scripts/test: timeout=600
"""joulery.transformers with the real Trainer: a tiny model made from a config, gradient accumulation, evaluation, early stopping."""
import pytest
from frameworks import check_epoch, check_sums, kpi, need, train, work

SAMPLES, BATCH, ACCUMULATION, EPOCHS = 44, 4, 2, 2
STEPS = 6  # an epoch: 11 batches, the last step has one alone

MODEL = """
import time, torch, transformers
config = transformers.GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2)
torch.manual_seed(1)
class Data(torch.utils.data.Dataset):
    def __len__(self): return %d
    def __getitem__(self, i):
        words = torch.arange(8) + i %% 8
        return {"input_ids": words, "labels": words}
class Slow(transformers.TrainerCallback):
    def on_epoch_begin(self, args, state, control, **kwargs): time.sleep(1.0)
def trainer(callbacks, **options):
    arguments = transformers.TrainingArguments("out", use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no", eval_strategy="epoch",
                                               logging_steps=2, per_device_train_batch_size=%d, **options)
    return transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=Data(), eval_dataset=Data(),
                                callbacks=callbacks)
""" % (SAMPLES, BATCH)


@pytest.fixture(scope="module")
def trained(joulery, tmp_path_factory):
    need("transformers", "accelerate", "torch")
    return train(joulery, tmp_path_factory.mktemp("transformers"), MODEL + f"""
energy = joulery.transformers.Energy()
training = trainer([energy, Slow()], gradient_accumulation_steps={ACCUMULATION}, num_train_epochs={EPOCHS})
training.train()
tell(epochs=energy.epochs, total=energy.total.joules, steps=training.state.global_step,
     history=[entry for entry in training.state.log_history if "energy_j" in entry],
     eval_loss=[entry["eval_loss"] for entry in training.state.log_history if "eval_loss" in entry])
""")


def test_each_epoch_has_its_energy_by_the_power_of_the_machine(trained):
    assert [figures["epoch"] for figures in trained.told["epochs"]] == list(range(EPOCHS))
    for figures in trained.told["epochs"]:
        check_epoch(figures, samples=SAMPLES)


def test_the_trainers_own_history_has_the_figures(trained):
    assert [entry["energy_j"] for entry in trained.told["history"]] == [figures["energy_j"] for figures in trained.told["epochs"]]
    assert [entry["step"] for entry in trained.told["history"]] == [STEPS, 2 * STEPS]


def test_a_step_is_not_a_batch(trained):
    check_sums(trained)
    assert trained.told["steps"] == STEPS * EPOCHS
    assert trained.report["steps"]["count"] == STEPS * EPOCHS
    assert work(trained)["count"] == SAMPLES * EPOCHS


def test_evaluations_and_logs_become_kpis(trained):
    assert float(kpi(trained, "eval_loss")["last"]) == pytest.approx(trained.told["eval_loss"][-1], rel=1e-4)
    assert {row["name"] for row in trained.report["kpis"]} <= {"loss", "eval_loss", "train_loss"}


def test_training_ends_where_energy_is_not_worth_it(joulery, tmp_path):
    need("transformers", "accelerate", "torch")
    done = train(joulery, tmp_path, MODEL + """
stop = joulery.transformers.StopWhenEnergyNotWorthIt(min_gain_per_kwh=1e9)
training = trainer([Slow(), stop], num_train_epochs=9)
training.train()
tell(epochs=training.state.epoch)
""")
    assert done.told["epochs"] == 2  # the first evaluation is what the second is held against
