# scripts/test: timeout=300
"""joulery.jax with the real JAX: a jitted update in a loop."""
import pytest
from frameworks import check_epoch, check_sums, kpi, need, train, work

STEPS, BATCH, EPOCHS = 12, 16, 2


@pytest.fixture(scope="module")
def trained(joulery, tmp_path_factory):
    need("jax")
    return train(joulery, tmp_path_factory.mktemp("jax"), f"""
        import time
        import jax, jax.numpy as jnp
        def loss(w, x): return jnp.mean((x @ w - x.sum(1)) ** 2)
        update = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x))
        batches = jax.random.uniform(jax.random.PRNGKey(0), ({STEPS}, {BATCH}, 8))
        w = jnp.zeros(8)
        energy = joulery.jax.Energy()
        for epoch in energy.epochs({EPOCHS}):
            time.sleep(1.0)
            for x in batches:
                with energy.step(samples={BATCH}) as step:
                    w = step.ready(update(w, x))
            energy.log(loss=loss(w, batches[0]))
        for x in energy.steps(batches):  # counted by the first dimension of an item
            w = update(w, x)
        tell(figures=energy.figures, loss=float(loss(w, batches[0])), total=energy.total.joules)
    """)


def test_each_epoch_has_its_energy_by_the_power_of_the_machine(trained):
    assert [figures["epoch"] for figures in trained.told["figures"]] == list(range(EPOCHS))
    for figures in trained.told["figures"]:
        check_epoch(figures, samples=STEPS * BATCH)
    assert sum(figures["energy_j"] for figures in trained.told["figures"]) == pytest.approx(trained.told["total"], rel=0.02)


def test_the_report_counts_steps_and_samples_and_adds_up(trained):
    check_sums(trained)
    assert trained.report["steps"]["count"] == STEPS * (EPOCHS + 1)
    assert work(trained)["count"] == STEPS * BATCH * (EPOCHS + 1)
    assert kpi(trained, "loss")["last"] > 0
