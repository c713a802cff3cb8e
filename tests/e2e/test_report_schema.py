"""Every JSON report fits its published JSON Schema, judged by an independent validator (python-jsonschema)."""

import copy
import decimal
import json
import pathlib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "publish"
REPORTS = sorted(p for p in GOLDEN.glob("*.json") if not p.name.startswith("repeats") and ".ledger" not in p.name)
LEDGERS = sorted(GOLDEN.glob("*.ledger.json"))
REPEATS = sorted(GOLDEN.glob("repeats*.json"))


def schema(name):
    return json.loads((ROOT / "data" / "schemas" / name).read_text(encoding="utf-8"))


def validator(name):
    report = schema("report.json")
    chosen = schema(name)
    jsonschema.Draft202012Validator.check_schema(chosen)
    resolver = jsonschema.RefResolver.from_schema(chosen, store={report["$id"]: report})
    return jsonschema.Draft202012Validator(chosen, resolver=resolver)


def load(path):
    def forbid(constant):
        raise ValueError(f"{constant} is no JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=forbid)


def undescribed(value, node, root, where=""):
    """The fields of `value` that the schema does not describe."""
    if "$ref" in node and node["$ref"].startswith("#/$defs/"):
        node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict):
        for key, inner in value.items():
            described = node.get("properties", {}).get(key)
            if described is None or ("description" not in described and "$ref" not in described):
                yield f"{where}/{key}"
            else:
                yield from undescribed(inner, described, root, f"{where}/{key}")
    elif isinstance(value, list):
        for inner in value:
            if "report.json" not in node["items"].get("$ref", ""):
                yield from undescribed(inner, node["items"], root, where + "[]")


def test_there_are_reports_to_check():
    assert len(REPORTS) >= 6 and len(REPEATS) >= 2 and len(LEDGERS) >= 1


@pytest.mark.parametrize("path", REPORTS, ids=lambda p: p.stem)
def test_report_fits_the_schema(path):
    validator("report.json").validate(load(path))
    root = schema("report.json")
    assert list(undescribed(load(path), root, root)) == []


@pytest.mark.parametrize("path", REPEATS, ids=lambda p: p.stem)
def test_repeats_fit_the_schema(path):
    validator("repeats.json").validate(load(path))
    root = schema("repeats.json")
    assert list(undescribed(load(path), root, root)) == []


@pytest.mark.parametrize("path", LEDGERS, ids=lambda p: p.stem)
def test_ledgers_fit_the_schema(path):
    validator("ledger.json").validate(load(path))


@pytest.mark.parametrize("path", REPORTS, ids=lambda p: p.stem)
def test_counted_components_sum_to_the_total_exactly(path):
    report = json.loads(path.read_text(encoding="utf-8"), parse_float=decimal.Decimal)
    counted = [c["joules"] for c in report["components"] if not c["overlap"] and c["joules"] is not None]
    if report["energy"]["joules"] is None:
        assert counted == []
    else:
        assert sum(counted) == report["energy"]["joules"]
        assert sum(report["energy"]["by_quality"].values()) == report["energy"]["joules"]


BREAKAGES = [
    ("no schema", lambda r: r.pop("schema")),
    ("a missing figure without a reason", lambda r: r["phases"][0].update(joules=None, reason=None)),
    ("a missing total without a reason", lambda r: r["energy"].update(joules=None)),
    ("a number for a missing component", lambda r: r["components"][0].update(quality="missing")),
    ("text for a number", lambda r: r.update(duration_s="125")),
    ("an unknown quality", lambda r: r["energy"].update(quality="guessed")),
    ("no carbon", lambda r: r.pop("carbon")),
    ("null carbon without a reason", lambda r: r["carbon"].update(grams=None)),
    ("a layer without a reason", lambda r: r["layers"][0].update(joules=None, reason=None)),
    ("no delay without a reason", lambda r: r["meter_delays"][0].update(reason=None)),
    ("an unknown boundary", lambda r: r["energy"].update(boundary="street")),
    ("a gap without a reason", lambda r: r["sampling"].update(gaps=[{"begin_s": 0, "end_s": 1, "reason": "", "energy_lost": False}])),
    ("an exit code that is unknown without a reason", lambda r: r.update(exit_code=None)),
]


@pytest.mark.parametrize("file, change", [("layered.json" if "lay" in b[0] else "gpu_run.json", b[1]) for b in BREAKAGES],
                         ids=[b[0] for b in BREAKAGES])
def test_the_schema_refuses(file, change):
    report = copy.deepcopy(load(GOLDEN / file))
    change(report)
    with pytest.raises(jsonschema.ValidationError):
        validator("report.json").validate(report)
