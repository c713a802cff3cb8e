# scripts/test: timeout=300
"""The figures in a real MLflow run, and the correctness of what its store has."""
import pytest
from frameworks import check_epoch, need, train


def test_an_active_mlflow_run_gets_the_figures_of_each_epoch(joulery, tmp_path):
    need("mlflow")
    done = train(joulery, tmp_path, """
        import time
        import mlflow
        mlflow.set_tracking_uri(f"file:{os.getcwd()}/runs")
        from joulery._loop import Loop
        energy = Loop()
        with mlflow.start_run() as run:
            for epoch in energy.epochs(2):
                time.sleep(1)
                with energy.step(samples=10): pass
        client = mlflow.tracking.MlflowClient()
        tell(figures=energy.figures, logged={name: [[m.step, m.value] for m in client.get_metric_history(run.info.run_id, f"joulery/{name}")]
                                             for name in ("energy_j", "j_per_sample", "watts")})
    """, env={"MLFLOW_ALLOW_FILE_STORE": "true"})
    for figures in done.told["figures"]:
        check_epoch(figures, samples=10)
    for name, logged in done.told["logged"].items():
        assert [step for step, _ in logged] == [0, 1]
        assert [value for _, value in logged] == pytest.approx([figures[name] for figures in done.told["figures"]])
