# scripts/test: serial timeout=300
"""Meters of the node and of the room against the real servers that stand in for them: what the doctor says of each, what a run
measures, and what a failing one costs: its own readings alone."""
import json
import threading

import pytest

from conftest import Runner, built, json_in
from room_servers import MqttBroker, Publisher, Relay, SimulatedBmc, SnmpDevice, make_identity, tool
from scripted_tree import ScriptedTree

TASMOTA = '{"Time":"2026-01-01T00:00:00","ENERGY":{"Total":12.345,"Power":%s,"Voltage":230}}'
SECRETS = [SimulatedBmc.PASSWORD, SnmpDevice.COMMUNITY, SnmpDevice.PASSWORD, SnmpDevice.PRIVACY, MqttBroker.PASSWORD, "not-the-secret"]
CPU = [("intel-rapl:0", "package-0", 20.0)]


@pytest.fixture(scope="module", autouse=True)
def installed():
    missing = [name for name in ("ipmi_sim", "sdrcomp", "snmpd", "mosquitto", "mosquitto_pub") if not tool(name)]
    if built("standins/dcmi_plugin.so") is None:
        missing.append("the headers of OpenIPMI")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (scripts/setup test)")


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A controller, a distribution unit and a broker with a plug that publishes."""
    folder = tmp_path_factory.mktemp("room")
    with SimulatedBmc(folder / "bmc", built("standins/dcmi_plugin.so")) as bmc, SnmpDevice(folder / "pdu") as pdu, \
            MqttBroker(folder / "broker") as broker, Publisher(broker, "tele/plug/SENSOR", TASMOTA % 345.5):
        yield bmc, pdu, broker


class Configuration:
    """./joulery.toml in a folder of its own, with the secrets beside it; calls joulery there."""

    def __init__(self, joulery, folder):
        self.runner, self.folder, self.sections = Runner(joulery, folder / "home"), folder, []
        (folder / "home").mkdir()

    def secret(self, text):
        file = self.folder / f"secret-{len(list(self.folder.iterdir()))}"
        file.write_text(text + "\n")
        file.chmod(0o600)
        return str(file)

    def meter(self, name, kind, **settings):
        lines = [f"[meters.{name}]", f'kind = "{kind}"', 'host = "127.0.0.1"'] + [f"{k} = {json.dumps(v)}" for k, v in settings.items()]
        self.sections.append("\n".join(lines))

    def bmc(self, name, port, password=SimulatedBmc.PASSWORD, **more):
        self.meter(name, "ipmi-lan", port=port, user="meter", privilege="admin", password_file=self.secret(password), **more)

    def pdu(self, name, port, community=SnmpDevice.COMMUNITY, **more):
        self.meter(name, "snmp", port=port, community_file=self.secret(community), **more)

    def user(self, name, port, user=SnmpDevice.USER, password=SnmpDevice.PASSWORD, privacy=SnmpDevice.PRIVACY, **more):
        self.meter(name, "snmp", port=port, user=user, password_file=self.secret(password), privacy_password_file=self.secret(privacy), **more)

    def plug(self, name, port, password=MqttBroker.PASSWORD, **more):
        more = {"topic": "tele/plug/SENSOR", "pointer": "/ENERGY/Power", **more}
        self.meter(name, "mqtt", port=port, user="meter", password_file=self.secret(password), **more)

    def __call__(self, *words, **options):
        (self.folder / "joulery.toml").write_text("\n\n".join(self.sections) + "\n")
        return self.runner(*words, cwd=self.folder, **options)

    def doctor(self):
        done = self("doctor", "--json")
        for secret in SECRETS:
            assert secret not in done.stdout + done.stderr
        return {row["device"]: row for row in json_in(done.stdout)["meters"] if row["kind"] in ("ipmi-lan", "snmp", "mqtt")}


@pytest.fixture
def configuration(joulery, tmp_path):
    return Configuration(joulery, tmp_path)


# ---- the doctor ----

def test_the_doctor_finds_what_is_configured(room, configuration):
    bmc, pdu, broker = room
    configuration.bmc("bmc", bmc.port)
    configuration.pdu("apc", pdu.port, model="apc-rpdu2")
    configuration.user("outlet", pdu.port, model="raritan-pdu2", outlet=5)
    configuration.pdu("inlet", pdu.port, model="raritan-pdu2", inlet=1)
    configuration.pdu("own", pdu.port, oid="1.3.6.1.4.1.99999.1.0", unit="kW")
    configuration.plug("plug", broker.port)
    found = configuration.doctor()
    assert set(found) == {"bmc", "apc", "outlet", "inlet", "own", "plug"}
    for name, row in found.items():
        assert row["found"] and row["readable"], (name, row)


def test_mqtt_over_tls_asks_for_the_certificate(tmp_path, configuration):
    identity, foreign = make_identity(tmp_path, "broker"), make_identity(tmp_path, "somebody")
    with MqttBroker(tmp_path / "broker", identity) as broker, Publisher(broker, "tele/plug/SENSOR", TASMOTA % 345.5):
        configuration.plug("right", broker.tls_port, ca_file=identity[0])
        configuration.plug("foreign", broker.tls_port, ca_file=foreign[0])
        configuration.plug("any", broker.tls_port, ca_file=foreign[0], insecure=True)
        configuration.plug("any-without-file", broker.tls_port, insecure=True)
        configuration.plug("not-tls", broker.port, ca_file=identity[0])
        found = configuration.doctor()
    for name in ("foreign", "not-tls"):
        assert not found[name]["readable"] and "TLS" in found[name]["reason"], (name, found[name])
    for name in ("right", "any", "any-without-file"):
        assert found[name]["readable"], (name, found[name])


def test_none_is_configured(configuration):
    rows = json_in(configuration("doctor", "--json").stdout)["meters"]
    for kind in ("ipmi", "ipmi-lan", "battery", "snmp", "mqtt"):
        assert [row for row in rows if row["kind"] == kind and row["reason"]], kind


def test_what_is_wrong_is_said(room, configuration):
    bmc, pdu, broker = room
    wrong = {
        "bmc-password": "wrong password", "bmc-silent": "no answer",
        "pdu-community": "a community that it does not take", "pdu-password": "wrong password", "pdu-user": "does not know the user",
        "pdu-oid": "no object 1.3.6.1.4.1.99999.9.0", "pdu-outlet": "no object 1.3.6.1.4.1.13742.6.5.4.3.1.4.1.6.5",
        "pdu-unit": "model", "plug-password": "refuses this user or password", "plug-topic": "nothing was published on tele/other",
        "plug-pointer": "", "plug-silent": "Connection refused", "plug-wildcard": "without wildcards"}
    configuration.bmc("bmc-password", bmc.port, "not-the-secret")
    with Relay(bmc.port, "silent") as relay:
        configuration.bmc("bmc-silent", relay.port)
        configuration.pdu("pdu-community", pdu.port, "not-the-secret", model="apc-rpdu2")
        configuration.user("pdu-password", pdu.port, password="not-the-secret", model="apc-rpdu2")
        configuration.user("pdu-user", pdu.port, user="nobody", model="apc-rpdu2")
        configuration.pdu("pdu-oid", pdu.port, oid="1.3.6.1.4.1.99999.9.0")
        configuration.pdu("pdu-outlet", pdu.port, model="raritan-pdu2", outlet=6)
        configuration.pdu("pdu-unit", pdu.port)
        configuration.plug("plug-password", broker.port, "not-the-secret")
        configuration.plug("plug-topic", broker.port, topic="tele/other")
        configuration.plug("plug-pointer", broker.port, pointer="/ENERGY/Watts")
        configuration.plug("plug-silent", 1)
        configuration.plug("plug-wildcard", broker.port, topic="tele/#")
        found = configuration.doctor()
    assert set(found) == set(wrong)
    for name, text in wrong.items():
        assert not found[name]["readable"] and found[name]["reason"] and text in found[name]["reason"], (name, found[name])


def test_a_controller_that_measures_nothing_is_no_reading(room, configuration):
    bmc, _, _ = room
    configuration.bmc("bmc", bmc.port)
    try:
        bmc.set_power(0, active=0)
        assert configuration.doctor()["bmc"]["readable"], "its sensors of watts remain"
        run = configuration("run", "-o", "run.joulery", "--", "sleep", "1.5")
        assert run.returncode == 0, run.stderr
        report = configuration.runner.report(configuration.folder / "run.joulery")
        assert not [c for c in report["components"] if c["path"] in ("node", "node/rest") and c["quality"] in ("integrated", "derived")]
    finally:
        bmc.set_power(344)


# ---- a run ----

def energy(report, path):
    rows = [c for c in report["components"] if c["path"] == path]
    assert len(rows) == 1, [c["path"] for c in report["components"]]
    return rows[0]["joules"]


def test_a_run_measures_the_node_and_the_wall(room, configuration, tmp_path):
    bmc, pdu, broker = room
    configuration.bmc("bmc", bmc.port, interval="200ms")
    configuration.user("outlet", pdu.port, model="raritan-pdu2", outlet=5, interval="200ms", component="node/board/outlet")
    configuration.plug("plug", broker.port, interval="200ms", component="node/board/plug")
    done = configuration("run", "-o", "run.joulery", "--", "sleep", "3")
    assert done.returncode == 0, done.stderr
    for secret in SECRETS:
        assert secret.encode() not in (tmp_path / "run.joulery").read_bytes()
    report = configuration.runner.report(tmp_path / "run.joulery")
    seconds = report["duration_s"]
    assert energy(report, "node/board/PSU1-Power-In") == pytest.approx(344 * seconds, rel=0.1)   # raw 86, 4 W a count
    assert energy(report, "node/board/CPU-Power") == pytest.approx(245 * seconds, rel=0.1)       # (25 * 100 - 50) / 10 W
    assert energy(report, "node/board/outlet") == pytest.approx(344 * seconds, rel=0.1)          # 3440 with one decimal digit
    assert energy(report, "node/board/plug") == pytest.approx(345.5 * seconds, rel=0.1)


def test_the_command_inherits_no_connection(room, configuration):
    bmc, pdu, broker = room
    configuration.bmc("bmc", bmc.port)
    configuration.pdu("apc", pdu.port, model="apc-rpdu2")
    configuration.plug("plug", broker.port)
    done = configuration("run", "--no-save", "--quiet", "--", "ls", "-l", "/proc/self/fd")
    assert done.returncode == 0 and "socket:" not in done.stdout, done.stdout


def test_a_retained_message_is_not_fresh(room, configuration):
    _, _, broker = room
    broker.publish("tele/old/SENSOR", TASMOTA % 99, retain=True)
    configuration.plug("plug", broker.port, topic="tele/old/SENSOR")
    row = configuration.doctor()["plug"]
    assert not row["readable"] and "may be of any age" in row["reason"]


# ---- faults in mid-run ----

BEGIN_S, END_S, RUN_S = 2.0, 5.0, 9.0
HEALING = ["bmc-silent", "bmc-slow", "bmc-rubbish", "pdu-silent", "pdu-slow", "pdu-rubbish", "outlet-rubbish"]
LOST = ["pdu-gone", "plug-gone"]
STEADY = ["bmc-steady", "pdu-steady", "plug-steady"]


@pytest.fixture(scope="module")
def faulty(joulery, tmp_path_factory, room):
    """A run during which nine remote meters fail, each in its own way, beside healthy ones and a processor's counter."""
    bmc, pdu, broker = room
    folder = tmp_path_factory.mktemp("faulty")
    configuration = Configuration(joulery, folder)
    quick = {"timeout": "1s", "interval": "200ms", "longest_pause": "500ms", "max_age": "1500ms"}
    relays = {name: Relay(bmc.port if name.startswith("bmc") else pdu.port) for name in HEALING}
    modes = {name: name.split("-")[1] for name in HEALING}
    for name, relay in relays.items():
        relay.__enter__()
        add = configuration.bmc if name.startswith("bmc") else configuration.user if name.startswith("outlet") else configuration.pdu
        more = {} if name.startswith("bmc") else {"model": "raritan-pdu2", "outlet": 5}
        add(name, relay.port, component=f"node/board/{name}", **more, **quick)
    configuration.bmc("bmc-steady", bmc.port, component="node/board/bmc-steady", **quick)
    configuration.pdu("pdu-steady", pdu.port, component="node/board/pdu-steady", model="raritan-pdu2", outlet=5, **quick)
    configuration.plug("plug-steady", broker.port, component="node/board/plug-steady", **quick)
    with SnmpDevice(folder / "pdu") as second, MqttBroker(folder / "broker") as other, \
            Publisher(other, "tele/plug/SENSOR", TASMOTA % 345.5), ScriptedTree(str(folder / "machine"), CPU):
        configuration.pdu("pdu-gone", second.port, component="node/board/pdu-gone", model="raritan-pdu2", outlet=5, **quick)
        configuration.plug("plug-gone", other.port, component="node/board/plug-gone", **quick)

        def fail():
            for name, relay in relays.items():
                relay.mode = modes[name]
            second.stop()
            other.stop()

        def heal():
            for relay in relays.values():
                relay.mode = "pass"

        # The command says when it begins, for looking for the meters takes a second or so.
        started = folder / "started"
        script = f"touch {started}; sleep {RUN_S}"

        def at_the_right_times():
            while not started.exists() and not over.wait(0.01):
                pass
            if not over.wait(BEGIN_S):
                fail()
            if not over.wait(END_S - BEGIN_S):
                heal()

        over = threading.Event()
        thread = threading.Thread(target=at_the_right_times)
        thread.start()
        done = configuration("run", "--sysroot", folder / "machine", "-o", folder / "f.joulery", "--", "sh", "-c", script)
        over.set()
        thread.join()
    for relay in relays.values():
        relay.__exit__()
    assert done.returncode == 0, done.stderr
    return configuration.runner.report(folder / "f.joulery")


def gaps(report, name):
    return [g for g in report["sampling"]["gaps"] if f"node/board/{name}:" in g["reason"]]


@pytest.mark.parametrize("name", HEALING + LOST)
def test_the_report_tells_from_when_to_when(faulty, name):
    its = gaps(faulty, name)
    assert its, json.dumps(faulty["sampling"]["gaps"])
    # A gap reaches from the last reading before to the first one after. A reading stands in the middle of its exchange, which may
    # begin before the fault, or end after it with the answer to a second try.
    assert BEGIN_S - 1.5 <= its[0]["begin_s"] <= BEGIN_S + 2.5, its
    assert its[-1]["end_s"] >= (END_S - 1.5 if name in HEALING else RUN_S - 1.0), its


@pytest.mark.parametrize("name", HEALING)
def test_what_comes_back_is_read_again(faulty, name):
    assert gaps(faulty, name)[-1]["end_s"] < RUN_S - 0.2


@pytest.mark.parametrize("name", STEADY)
def test_healthy_ones_lose_nothing(faulty, name):
    assert gaps(faulty, name) == []
    watts = 345.5 if name.startswith("plug") else 344
    assert energy(faulty, f"node/board/{name}") == pytest.approx(watts * faulty["duration_s"], rel=0.1)


def test_the_processor_keeps_its_rate(faulty):
    """Ten rounds a second, whatever the others do: a stall of a second would cost ten of about ninety."""
    assert energy(faulty, "node/cpu/package-0") == pytest.approx(20 * faulty["duration_s"], rel=0.05)
    assert faulty["sampling"]["rounds"] >= 0.9 * faulty["duration_s"] / faulty["sampling"]["interval_s"]
    assert not [g for g in faulty["sampling"]["gaps"] if "package-0" in g["reason"]]


# ---- the kernel's own device ----

def in_band(script):
    device = built("standins/fake_ipmi_device.so")
    return {"LD_PRELOAD": str(device), "FAKE_IPMI": str(script)}


WIRE = "dcmi 00dc58010f01e9013f0142cb0c6be803000040"  # 344 W


def bmc_row(run, script):
    return [row for row in json_in(run("doctor", "--json", env=in_band(script)).stdout)["meters"] if row["kind"] == "ipmi"][0]


@pytest.mark.parametrize("text, readable, reason", [
    (WIRE, True, ""), ("errno 13", False, "root alone"), ("dcmi c1", False, "C1"), ("dcmi cb", False, "CB"), ("dcmi d4", False, "D4"),
    ("dcmi 00dc000000000000000042cb0c6be803000000", False, "not active"), ("dcmi 00dcffff", False, "none of DCMI's"),
    ("gone", False, "No such device")])
def test_in_band_findings(run, tmp_path, text, readable, reason):
    script = tmp_path / "bmc"
    script.write_text(text + "\n")
    row = bmc_row(run, script)
    assert row["found"] and row["readable"] == readable, row
    assert reason in row["reason"], row


def test_in_band_run(run, tmp_path):
    script = tmp_path / "bmc"
    script.write_text(WIRE + "\n")
    done = run("run", "-o", tmp_path / "run.joulery", "--", "sleep", "2.5", env=in_band(script))
    assert done.returncode == 0, done.stderr
    report = run.report(tmp_path / "run.joulery")
    assert energy(report, "node/rest") == pytest.approx(344 * report["duration_s"], rel=0.1)
