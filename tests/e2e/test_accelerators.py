"""Accelerators through the real program: a machine of files with cards on its PCI bus, and a stand-in for the vendor's library."""
import json
import pathlib

import pytest

from conftest import built, row

SCRIPT = """card 0 address 0000:05:00.0
card 0 name AMD Instinct MI300X
card 0 watts 0 700
card 0 unit 15.259
card 1 address 0000:26:00.0
card 1 name AMD Instinct MI300X
card 1 watts 0 140
card 1 frozen 0
"""


def lay_card(root, address, vendor, device, pci_class):
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, text in (("vendor", vendor), ("device", device), ("class", pci_class)):
        (folder / name).write_text(text + "\n", encoding="ascii")


@pytest.fixture
def two_cards(tmp_path):
    """The options and the environment under which the program sees two MI300X."""
    library = built("standins/libamd_smi.so")
    if library is None:
        pytest.skip("skipped: the stand-in libamd_smi.so is not built")
    root = tmp_path / "machine"
    for address in ("0000:05:00.0", "0000:26:00.0"):
        lay_card(root, address, "0x1002", "0x74a1", "0x120000")
    (root / "proc").mkdir()
    (tmp_path / "script").write_text(SCRIPT, encoding="ascii")
    return root, {"LD_LIBRARY_PATH": str(pathlib.Path(library).parent), "FAKE_AMDSMI_SCRIPT": str(tmp_path / "script")}


def test_doctor_tells_each_card_and_the_faulty_counter(run, two_cards):
    root, environment = two_cards
    done = run("doctor", "--json", "--sysroot", root, env=environment, check=0)
    cards = {m["device"]: m for m in json.loads(done.stdout)["meters"] if m["kind"] == "amdsmi"}
    assert set(cards) == {"0000:05:00.0 AMD Instinct MI300X", "0000:26:00.0 AMD Instinct MI300X"}
    assert all(c["found"] and c["readable"] for c in cards.values())
    assert cards["0000:05:00.0 AMD Instinct MI300X"]["reason"] == ""
    assert "stands still at 140 W" in cards["0000:26:00.0 AMD Instinct MI300X"]["reason"]


def test_run_measures_one_and_integrates_the_other(run, two_cards, tmp_path):
    root, environment = two_cards
    file = tmp_path / "run.joulery"
    run("run", "--quiet", "-o", file, "--sysroot", root, "--", "sleep", "1", env=environment, check=0)
    report = run.report(file)
    first, second = row(report, "node/gpu/amd-0"), row(report, "node/gpu/amd-1")
    assert first["quality"] == "measured" and second["quality"] == "integrated"
    assert first["mean_watts"] == pytest.approx(700, rel=0.02) and second["mean_watts"] == pytest.approx(140, rel=0.02)


def test_cards_that_nothing_tells_of_are_missing_by_name(run, two_cards, tmp_path):
    """Without the library: no joule of theirs is in the sum, and the report says why."""
    root, _ = two_cards
    file = tmp_path / "run.joulery"
    run("run", "--quiet", "-o", file, "--sysroot", root, "--", "true", env={"FAKE_AMDSMI_SCRIPT": "", "LD_LIBRARY_PATH": ""}, check=0)
    missing = row(run.report(file), "node/gpu/amd")
    assert missing["quality"] == "missing" and "libamd_smi.so is not installed" in missing["reason"]
