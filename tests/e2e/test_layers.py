"""`joulery ledger` and `joulery calibrate --wall` on a machine whose package, node and wall are known by script.

hwmon knows the node; the recording's second power meter is named the wall afterwards, as a configured meter would have been.
"""
import decimal
import json
import pathlib
import shutil
import sqlite3

import jsonschema
import pytest

from layered_tree import LayeredTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def name_wall(source, target):
    """A copy of a recording in which the second power meter is the wall."""
    shutil.copy(source, target)
    with sqlite3.connect(target) as base:
        changed = base.execute("UPDATE channel SET component = 'wall', scope = 'component' WHERE component LIKE '%power_meter-1%'").rowcount
    base.close()
    assert changed == 1
    return target


@pytest.fixture(scope="module")
def machine(joulery, tmp_path_factory):
    from conftest import Runner
    home = tmp_path_factory.mktemp("layers")
    runner = Runner(joulery, home)
    with LayeredTree(home / "machine") as tree:
        done = runner("run", "--sysroot", tree.root, "--interval", "20ms", "-o", home / "plain.joulery", "--", "sleep", "9")
    assert done.returncode == 0, done.stderr
    name_wall(home / "plain.joulery", home / "wall.joulery")
    return runner, home, tree


def ledger(runner, file, *words):
    done = runner("ledger", file, "--json", *words, check=0)
    return json.loads(done.stdout, parse_float=decimal.Decimal)


def layer(told, name):
    return next(each for each in told["layers"] if each["name"] == name)


def schema_of(name):
    report = json.loads((ROOT / "data/schemas/report.json").read_text())
    chosen = json.loads((ROOT / "data/schemas" / name).read_text())
    resolver = jsonschema.RefResolver.from_schema(chosen, store={report["$id"]: report})
    return jsonschema.Draft202012Validator(chosen, resolver=resolver)


def test_parts_and_residual_sum_to_the_whole_in_every_layer(machine):
    runner, home, _ = machine
    told = ledger(runner, home / "wall.joulery")
    assert [each["name"] for each in told["layers"]] == ["wall", "node", "workloads"]
    for each in told["layers"]:
        parts = sum(part["joules"] for part in each["parts"] if part["joules"] is not None)
        assert parts + each["residual"]["joules"] == each["joules"], each["name"]


def test_the_json_fits_its_schema(machine):
    runner, home, _ = machine
    for file in ("plain.joulery", "wall.joulery"):
        schema_of("ledger.json").validate(json.loads(runner("ledger", home / file, "--json", check=0).stdout))
        schema_of("report.json").validate(json.loads(runner("report", home / file, "--json", check=0).stdout))


def test_delays_are_found(machine):
    runner, home, tree = machine
    delays = {each["path"]: each for each in ledger(runner, home / "wall.joulery")["meter_delays"]}
    for path, late in (("node", tree.node_late), ("wall", tree.wall_late)):
        assert delays[path]["milliseconds"] is not None, delays[path]["reason"]
        # Readings are 20 ms apart; the machine of the test may be busy, which moves readings and truth alike.
        assert float(delays[path]["milliseconds"]) == pytest.approx(late * 1000, abs=60)
        assert delays[path]["correlation"] > 0.9
        assert delays[path]["low"] <= delays[path]["milliseconds"] <= delays[path]["high"]


def test_residuals_are_what_the_script_burns(machine):
    runner, home, tree = machine
    told = ledger(runner, home / "wall.joulery")
    node, wall = layer(told, "node"), layer(told, "wall")
    seconds = float(node["end_s"] - node["begin_s"])
    assert float(node["residual"]["joules"]) == pytest.approx(tree.node_fixed * seconds, rel=0.08)
    loss = tree.wall_fixed * seconds + float(node["joules"]) * (1 / tree.efficiency - 1)
    assert float(wall["residual"]["joules"]) == pytest.approx(loss, rel=0.08)
    assert wall["residual"]["low"] <= wall["residual"]["joules"] <= wall["residual"]["high"]
    assert "power supply" in wall["residual"]["likely"] and "fans" in node["residual"]["likely"]


def test_the_boundary_is_the_node_and_grams_are_the_walls(machine):
    runner, home, _ = machine
    with_wall = runner.report(home / "wall.joulery", "--carbon-intensity", "100")
    plain = runner.report(home / "plain.joulery", "--carbon-intensity", "100")
    assert with_wall["energy"]["boundary"] == plain["energy"]["boundary"] == "node"
    assert with_wall["energy"]["joules"] == plain["energy"]["joules"]
    assert (with_wall["carbon"]["boundary"], plain["carbon"]["boundary"]) == ("wall", "node")
    wall = next(c for c in with_wall["components"] if c["path"] == "wall")
    assert wall["overlap"] and wall["joules"] > with_wall["energy"]["joules"]
    # The truth of the script, not the row's sum, which is half a second late.
    _, _, tree = machine
    package = next(c for c in with_wall["components"] if c["path"] == "node/cpu/package-0")["joules"]
    truth = (tree.wall_fixed + tree.node_fixed / tree.efficiency) * with_wall["duration_s"] + package / tree.efficiency
    assert with_wall["carbon"]["grams"] == pytest.approx(truth / 3.6e6 * 100, rel=0.03)
    assert with_wall["carbon"]["low"] <= truth / 3.6e6 * 100 <= with_wall["carbon"]["high"]
    assert plain["carbon"]["grams"] == pytest.approx(plain["energy"]["joules"] / 3.6e6 * 100)


def test_a_missing_layer_says_why_and_has_no_number(machine):
    runner, home, _ = machine
    wall = layer(ledger(runner, home / "plain.joulery"), "wall")
    assert wall["joules"] is None and wall["reason"] and wall["residual"]["joules"] is None and wall["residual"]["reason"]
    text = runner("ledger", home / "plain.joulery", check=0).stdout
    assert "missing" in text and "no meter of the wall" in text


def test_every_form_of_the_report_has_the_layers(machine):
    runner, home, _ = machine
    for form in ((), ("--markdown",), ("--html",)):
        text = runner("report", home / "wall.joulery", *form, check=0).stdout
        text = " ".join(text.split())
        assert "not told apart" in text and "ms) after rapl.powercap" in text, form


def test_the_wall_is_learnt_and_derived_on_a_machine_of_its_kind(machine, joulery, tmp_path):
    from conftest import Runner
    _, home, tree = machine
    runner = Runner(joulery, tmp_path)
    done = runner("calibrate", "--wall", home / "wall.joulery", check=0)
    assert "wall = " in done.stdout and "held out" in done.stdout
    derived = layer(ledger(runner, home / "plain.joulery"), "wall")
    measured = layer(ledger(runner, home / "wall.joulery"), "wall")
    assert (derived["quality"], derived["meter"]) == ("derived", "wall-model")
    assert (measured["quality"], measured["meter"]) == ("integrated", "hwmon")
    # On a machine of this kind without a wall meter: the same load, whose wall is known by the script.
    report = runner.report(home / "plain.joulery")
    package = next(c for c in report["components"] if c["path"] == "node/cpu/package-0")["joules"]
    truth = (tree.wall_fixed + tree.node_fixed / tree.efficiency) * report["duration_s"] + package / tree.efficiency
    wall = next(c for c in report["components"] if c["path"] == "wall")
    assert wall["low"] <= truth <= wall["high"]
    assert wall["joules"] == pytest.approx(truth, rel=0.05)
    assert wall["quality"] == "derived" and wall["overlap"] and "learnt from wall.joulery" in wall["reason"]
    assert report["carbon"]["boundary"] == "node", "grams rest on what was measured"
    assert layer(ledger(runner, home / "plain.joulery"), "wall")["joules"] is not None


def test_the_wall_of_another_kind_is_refused_with_why(machine, joulery, tmp_path):
    from conftest import Runner
    _, home, _ = machine
    runner = Runner(joulery, tmp_path)
    runner("calibrate", "--wall", home / "wall.joulery", check=0)
    with LayeredTree(tmp_path / "other", board="Maker Board 2") as tree:
        runner("run", "--sysroot", tree.root, "-o", tmp_path / "other.joulery", "--quiet", "--", "sleep", "0.5", check=0)
    wall = layer(ledger(runner, tmp_path / "other.joulery"), "wall")
    assert wall["joules"] is None
    assert "Maker Board 1 there, Maker Board 2 here" in wall["reason"]


@pytest.mark.parametrize("words, says", [
    (("--wall", "{plain}"), "no meter of the wall"),
    (("--wall", "nowhere.joulery"), "nowhere.joulery"),
    (("--wall", "{wall}", "--idle", "3"), "--idle"),
], ids=["no wall", "no file", "two ways"])
def test_what_cannot_be_learnt_is_refused_in_one_line(machine, joulery, tmp_path, words, says):
    from conftest import Runner, one_line
    _, home, _ = machine
    files = {"plain": home / "plain.joulery", "wall": home / "wall.joulery"}
    done = Runner(joulery, tmp_path)("calibrate", *[word.format(**files) for word in words])
    assert done.returncode in (1, 2)
    one_line(done.stderr, says)
    assert not list(tmp_path.rglob("wall_model.toml"))


def test_a_damaged_wall_model_is_an_error_that_names_it(machine, joulery, tmp_path):
    from conftest import Runner, one_line
    _, home, _ = machine
    runner = Runner(joulery, tmp_path)
    runner("calibrate", "--wall", home / "wall.joulery", check=0)
    file = next(tmp_path.rglob("wall_model.toml"))
    file.write_text(file.read_text().replace("slope", "slop"))
    done = runner("report", home / "plain.joulery")
    assert done.returncode == 1
    one_line(done.stderr, "wall_model.toml", "slop")
