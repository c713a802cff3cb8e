"""Meters at the other end of a wire, each against a stand-in on loopback, and what their faults cost."""
# scripts/test: serial timeout=600
import csv
import io
import json
import os
import threading
import time

import pytest

from conftest import ROOT, json_in
from web_meter import WebMeter, make_certificate, redfish_pages

SECRET = "hunter2-of-the-bmc"
RACK_SERVER = ROOT.parent / "shared/data/redfish/dmtf-public-rackmount1/public-rackmount1"
SMALL_SERVICE = {
    "/redfish/v1": '{"Chassis":{"@odata.id":"/redfish/v1/Chassis"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}}',
    "/redfish/v1/Chassis": '{"Members":[{"@odata.id":"/redfish/v1/Chassis/1"}]}',
    "/redfish/v1/Chassis/1": '{"Id":"1","EnvironmentMetrics":{"@odata.id":"/redfish/v1/Chassis/1/EnvironmentMetrics"}}',
    "/redfish/v1/Chassis/1/EnvironmentMetrics": '{"PowerWatts":{"Reading":374}}',
}


def configure(run, text):
    folder = run.home / "config" / "joulery"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "joulery.toml").write_text(text)
    return folder


def findings(run, kind, **options):
    done = run("doctor", "--json", **options)
    assert done.returncode in (0, 4), done.stderr
    return [f for f in json.loads(done.stdout)["meters"] if f["kind"] == kind]


def sql(run, file, query):
    return list(csv.DictReader(io.StringIO(run("sql", file, query, check=0).stdout)))


def bmc(run, url, more=""):
    folder = configure(run, f'[meters.bmc]\nkind = "redfish"\nurl = "{url}"\nuser = "reader"\npassword_file = "pw"\n{more}\n')
    (folder / "pw").write_text(SECRET + "\n")
    (folder / "pw").chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_redfish_over_https_with_a_session(run, two_zones, certificate, tmp_path):
    """A run beside a BMC whose certificate is checked; its session is closed, and its password is nowhere."""
    pages = redfish_pages(RACK_SERVER) if RACK_SERVER.exists() else SMALL_SERVICE
    with WebMeter(pages, certificate, login=("reader", SECRET)) as service:
        bmc(run, service.url(), f'ca_file = "{certificate[0]}"\ninterval = "200ms"')
        file = tmp_path / "run.joulery"
        done = run("run", "--sysroot", two_zones, "-o", file, "--json", "--", "sleep", "2", check=0)
        report = json_in(done.stderr)
        assert report["energy"]["joules"] == pytest.approx(374 * report["duration_s"], rel=0.1)
        assert service.tokens == set()
        assert not any("Authorization" in headers for _, _, headers in service.requests)
    assert SECRET not in done.stderr + done.stdout
    for written in run.home.rglob("*"):
        if written.is_file() and written.name != "pw":
            assert SECRET.encode() not in written.read_bytes(), written


def metric_report(watts):
    """As a service writes it whose telemetry alone tells the power (DSP0268, MetricReport): a text, with when it was taken."""
    taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"Id": "PowerMetrics", "Timestamp": taken, "MetricValues": [
        {"MetricId": "CPUPower", "MetricValue": "80", "Timestamp": taken},
        {"MetricId": "SystemInputPower", "MetricValue": f"{watts}", "Timestamp": taken,
         "MetricProperty": "/redfish/v1/Chassis/1/Power#/PowerControl/0/PowerConsumedWatts"}]})


def test_redfish_telemetry_where_no_page_tells_the_power(run, two_zones, certificate, tmp_path):
    pages = {**SMALL_SERVICE, "/redfish/v1/Chassis/1": '{"Id":"1"}',
             "/redfish/v1": SMALL_SERVICE["/redfish/v1"][:-1] + ',"TelemetryService":{"@odata.id":"/redfish/v1/TelemetryService"}}',
             "/redfish/v1/TelemetryService": '{"MetricReports":{"@odata.id":"/redfish/v1/TelemetryService/MetricReports"}}',
             "/redfish/v1/TelemetryService/MetricReports": '{"Members":[{"@odata.id":"/redfish/v1/TelemetryService/MetricReports/PowerMetrics"}]}'}
    path = "/redfish/v1/TelemetryService/MetricReports/PowerMetrics"
    pages[path] = metric_report(219.5)
    stop = threading.Event()

    def report_on():
        while not stop.wait(0.2):
            service.pages[path] = metric_report(219.5)

    with WebMeter(pages, certificate, login=("reader", SECRET)) as service:
        thread = threading.Thread(target=report_on)
        thread.start()
        try:
            bmc(run, service.url(), 'insecure = true\ninterval = "200ms"')
            finding, = findings(run, "redfish")
            assert finding["readable"], finding
            done = run("run", "--sysroot", two_zones, "-o", tmp_path / "run.joulery", "--json", "--", "sleep", "4", check=0)
        finally:
            stop.set()
            thread.join()
    report = json_in(done.stderr)
    rows = {row["path"]: row for row in report["components"]}
    node = rows.get("node") or rows["node/rest"]
    assert node["meter"] == "redfish"
    assert report["energy"]["joules"] == pytest.approx(219.5 * report["duration_s"], rel=0.35)  # it is told to the second
    watts = [float(row["value"]) for row in sql(run, tmp_path / "run.joulery", "SELECT value FROM samples WHERE component = 'node' AND value IS NOT NULL")]
    assert watts and set(watts) == {219.5}


def test_a_certificate_is_checked_unless_told_otherwise(run, certificate):
    with WebMeter(SMALL_SERVICE, certificate, login=("reader", SECRET)) as service:
        bmc(run, service.url())
        finding, = findings(run, "redfish")
        assert not finding["readable"] and "certificate" in finding["reason"] and "ca_file" in finding["remedy"]
        assert not any(method == "POST" for method, _, _ in service.requests)  # the password stayed here
        bmc(run, service.url(), "insecure = true")
        finding, = findings(run, "redfish")
        assert finding["readable"], finding


def test_a_refused_login_is_tried_once(run, two_zones, certificate):
    """Devices lock accounts after a few wrong passwords."""
    with WebMeter(SMALL_SERVICE, certificate, login=("reader", "another")) as service:
        bmc(run, service.url(), 'insecure = true\ninterval = "100ms"')
        run("run", "--no-save", "--quiet", "--sysroot", two_zones, "--", "sleep", "1.5", check=0)
        assert sum(method == "POST" for method, _, _ in service.requests) == 1


def test_a_secret_that_others_may_read_is_refused(run, certificate):
    with WebMeter(SMALL_SERVICE, certificate, login=("reader", SECRET)) as service:
        (bmc(run, service.url(), "insecure = true") / "pw").chmod(0o644)
        finding, = findings(run, "redfish")
        assert not finding["readable"] and "open to others" in finding["reason"] and "chmod 600" in finding["remedy"]
        assert service.requests == []


def test_a_password_in_the_configuration_is_refused(run):
    configure(run, f'[meters.bmc]\nkind = "redfish"\npassword = "{SECRET}"\n')
    done = run("doctor")
    assert done.returncode == 2 and "password_file" in done.stderr and SECRET not in done.stderr


def test_exporter_and_plug_in_one_report(run, two_zones):
    page = "\n".join(f'DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"}} {watts}' for gpu, watts in ((0, 100), (1, 250)))
    with WebMeter({"/metrics": page + "\n", "/power": '{"watts": 42}'}) as meter:
        configure(run, f'[meters.gpus]\nkind = "prometheus"\nurl = "{meter.url("/metrics")}"\ninterval = "200ms"\n'
                       f'[meters.plug]\nkind = "http-json"\nurl = "{meter.url("/power")}"\npointer = "/watts"\ninterval = "200ms"\n'
                       'component = "node/board/plug"\n')
        report = json_in(run("run", "--no-save", "--json", "--sysroot", two_zones, "--", "sleep", "2", check=0).stderr)
    watts = {c["path"]: c["joules"] / report["duration_s"] for c in report["components"] if c["joules"] is not None}
    for path, expected in (("node/gpu/0", 100), ("node/gpu/1", 250), ("node/board/plug", 42), ("node/cpu/package-0", 20)):
        assert watts[path] == pytest.approx(expected, rel=0.15), watts


def test_doctor_has_a_row_for_every_kind_and_keeps_its_schema(run):
    import jsonschema

    done = run("doctor", "--json")
    told = json.loads(done.stdout)
    jsonschema.validate(told, json.loads((ROOT / "data" / "schemas" / "doctor.json").read_text()))
    assert {"redfish", "http-json", "prometheus", "nvml", "rapl.powercap"} <= {f["kind"] for f in told["meters"]}


def test_doctor_waits_once_for_all_that_are_silent(run):
    """Six silent meters of three kinds, each asked for a second: one after the other, the last would be asked five seconds after the
    first."""
    with WebMeter({}) as silent:
        silent.mode = "silent"
        configure(run, "".join(f'[meters.{kind}-{n}]\nkind = "{kind}"\nurl = "{silent.url("/x")}"\npointer = "/a"\n'
                               for kind in ("redfish", "http-json", "prometheus") for n in (1, 2)))
        rows = [f for f in json.loads(run("doctor", "--json").stdout)["meters"] if f["device"].startswith(f["kind"] + "-")]
        assert len(silent.arrivals) == 6  # and none a second time
        assert silent.arrivals[-1] - silent.arrivals[0] < 2.5
    assert len(rows) == 6 and all("no answer within" in row["reason"] for row in rows), rows


def faulty_run(run, machine, file):
    """Eight seconds at 10 Hz beside four meters of which each does what meters do wrong; when one was gone, by our clock."""
    page = {"/power": '{"watts": 42}'}
    with WebMeter(page) as silent, WebMeter(page) as slow, WebMeter(page) as rubbish, WebMeter(page) as vanishing:
        configure(run, "".join(
            f'[meters.{name}]\nkind = "http-json"\nurl = "{meter.url("/power")}"\npointer = "/watts"\ninterval = "100ms"\n'
            f'timeout = "2s"\nlongest_pause = "300ms"\ncomponent = "node/board/{name}"\n'
            for name, meter in (("silent", silent), ("slow", slow), ("rubbish", rubbish), ("vanishing", vanishing))))
        child = run.start("run", "--interval", "100ms", "--sysroot", machine, "-o", file, "--quiet", "--", "sleep", "8")
        while len(vanishing.requests) < 5:
            time.sleep(0.02)
        time.sleep(1.0)
        silent.mode, slow.mode, rubbish.mode = "silent", "slow", "rubbish"
        vanishing.vanish()
        time.sleep(3.0)
        vanishing.come_back()
        assert child.wait(timeout=60) == 0
    return run.report(file)


def test_what_goes_wrong_with_a_remote_meter_costs_its_own_readings_alone(run, two_zones, tmp_path):
    fast_missed = []
    for attempt in range(3):  # a machine that was busy elsewhere may miss a deadline by itself
        file = tmp_path / f"run{attempt}.joulery"
        report = faulty_run(run, two_zones, file)
        fast = {d["id"] for d in sql(run, file, "select id from device where kind like 'rapl%'")}
        assert fast
        missed = sql(run, file, "select detail, count from events where kind = 'missed'")
        fast_missed.append(sum(int(m["count"]) for m in missed if m["detail"].removeprefix("device ") in fast))
        if fast_missed[-1] == 0:
            break
    assert 0 in fast_missed, fast_missed
    gaps = [g for g in report["sampling"]["gaps"] if "vanishing" in g["reason"]]
    longest = max(gaps, key=lambda g: g["end_s"] - g["begin_s"])
    assert 2.0 < longest["end_s"] - longest["begin_s"] < 5.5 and longest["begin_s"] > 0.5, gaps
    assert "disappeared" in longest["reason"]
    for name in ("silent", "slow"):
        assert any(name in g["reason"] for g in report["sampling"]["gaps"]), name
    package, = [c for c in report["components"] if c["path"] == "node/cpu/package-0"]
    assert package["joules"] == pytest.approx(20 * report["duration_s"], rel=0.05)


def test_config_show_tells_the_origin(run, tmp_path):
    folder = configure(run, '[carbon]\nplace = "SE"\n[meters.bmc]\nkind = "redfish"\nurl = "https://bmc.lan"\n')
    here = tmp_path / "here"
    here.mkdir()
    (here / "joulery.toml").write_text('[carbon]\npue = 1.3\n')
    done = run("config", "show", "--origin", "--json", "--set", "meters.bmc.timeout=2s", cwd=here, env={"JOULERY_CARBON_PLACE": "FR"}, check=0)
    origin = {s["key"]: (s["value"], s["origin"]) for s in json.loads(done.stdout)["settings"]}
    assert origin["carbon.place"] == ("FR", {"name": "JOULERY_CARBON_PLACE", "line": None})
    assert origin["carbon.pue"] == (1.3, {"name": "joulery.toml", "line": 2})
    assert origin["meters.bmc.url"] == ("https://bmc.lan", {"name": os.fspath(folder / "joulery.toml"), "line": 5})
    assert origin["meters.bmc.timeout"] == ("2s", {"name": "--set", "line": None})
    assert origin["meters.bmc.interval"] == ("1s", {"name": "default", "line": None})


def test_log_goes_on_beside_a_meter_that_hangs(run, two_zones):
    with WebMeter({"/power": '{"watts": 42}'}) as meter:
        configure(run, f'[meters.plug]\nkind = "http-json"\nurl = "{meter.url("/power")}"\npointer = "/watts"\ninterval = "200ms"\n'
                       'timeout = "60s"\ncomponent = "node/board/plug"\n')
        child = run.start("log", "--interval", "200ms", "--json", "--sysroot", two_zones, stdout=-1, text=True)
        lines = [child.stdout.readline() for _ in range(3)]
        assert "42" in lines[-1], lines
        meter.mode = "silent"
        lines = [json.loads(child.stdout.readline()) for _ in range(16)]  # hangs for ever where the meter is waited for
        child.terminate()
        meter.stopping.set()
        child.stdout.close()
        child.wait(timeout=90)
    assert lines[-1]["watts"]["node/cpu/package-0"] == pytest.approx(20, rel=0.2), lines[-1]
