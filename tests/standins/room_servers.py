#!/usr/bin/python3
"""Real servers on loopback that stand in for a machine room: a management controller, a power distribution unit, a broker.

Each is a program of its own project, started on a free port in a folder of its own and stopped at the end of a `with` block:
    SimulatedBmc   OpenIPMI's ipmi_sim with our DCMI plug-in (build/PRESET/standins/dcmi_plugin.so)
    SnmpDevice     net-snmp's snmpd, whose objects are what the test says
    MqttBroker     Eclipse Mosquitto
and a Relay stands between a UDP client and its server and makes it silent, slow, or talk rubbish.

Invariant: no server outlives its block, and all listen on 127.0.0.1 alone.
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
READY_S = 20


def free_port(kind=socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tool(name):
    """Where a program lies that a user's PATH may lack; None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")


class Server:
    """A child process in its own group, its folder, and what it printed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.child = None

    def start(self, command, env=None):
        with open(self.folder / "log", "ab") as log:
            self.child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          cwd=self.folder, env={**os.environ, **(env or {})}, start_new_session=True)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def wait_until(self, ready):
        end = time.monotonic() + READY_S
        while not ready():
            if self.child.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{type(self).__name__} did not start:\n{self.log()}")
            time.sleep(0.02)

    def freeze(self):
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.child.send_signal(signal.SIGCONT)

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.stop()


BMC_LAN = """name "joulery"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 1 true "" "" user 10 none md2 md5 straight
  user 2 true "meter" "bmc-secret" admin 10 none md2 md5 straight
loadlib "{plugin}" "{folder}/dcmi"
"""
BMC_EMULATOR = """mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
{sensors}mc_enable 0x20
"""
BMC_SENSOR = """sensor_add 0x20 0 {number} 0x0b 0x01 poll 100 file "{file}"
sensor_set_value 0x20 0 {number} {raw} 0
sensor_set_event_support 0x20 0 {number} enable scanning per-state 000000000000000 000000000000000 000000000000000 000000000000000
"""


class SimulatedBmc(Server):
    """User "meter" with the password "bmc-secret". Sensors: 1 is 4 W a count, 3 is 2.5 W a count less 5 W (sensors.sdrs)."""
    USER, PASSWORD = "meter", "bmc-secret"

    def __init__(self, folder, plugin):
        super().__init__(folder)
        self.plugin, self.port = plugin, free_port()
        self.set_power(344, 271, 489, 319, 1000)
        self.set_sensor(1, 86)
        self.set_sensor(3, 100)

    def set_power(self, watts, least=0, greatest=0, mean=0, period_ms=1000, active=1, delay_ms=0, code=0):
        self.write("dcmi", f"{watts} {least} {greatest} {mean} {period_ms} {active} {delay_ms} {code}")

    def set_sensor(self, number, raw):
        self.write(f"sensor-{number}", str(raw))

    def write(self, name, text):
        new = self.folder / (name + ".new")
        new.write_text(text + "\n")
        new.replace(self.folder / name)  # never a half-written one

    def up(self):
        records = self.folder / "state" / "ipmi_sim" / "joulery"
        records.mkdir(parents=True, exist_ok=True)
        subprocess.run(["sdrcomp", "-o", records / "sdr.20.main", HERE / "bmc" / "sensors.sdrs"], check=True, capture_output=True)
        (self.folder / "lan.conf").write_text(BMC_LAN.format(port=self.port, plugin=self.plugin, folder=self.folder))
        sensors = "".join(BMC_SENSOR.format(number=n, file=self.folder / f"sensor-{n}", raw=raw) for n, raw in ((1, 86), (3, 100)))
        (self.folder / "sim.emu").write_text(BMC_EMULATOR.format(sensors=sensors))
        self.start(["ipmi_sim", "-c", self.folder / "lan.conf", "-f", self.folder / "sim.emu", "-s", self.folder / "state", "-n"])
        self.wait_until(self.answers)

    def answers(self):
        """An RMCP ping (ASF 2.0, section 3.2.4) is answered with a pong."""
        ping = bytes.fromhex("0600ff06000011be80000000")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.2)
            probe.sendto(ping, ("127.0.0.1", self.port))
            try:
                return len(probe.recv(100)) > 0
            except OSError:
                return False


class SnmpDevice(Server):
    """Community "room-community"; version 3: "reader" with SHA "auth-secret" and AES "privacy-secret". `objects`: OID -> (type,
    value) in snmpd's words. set_objects() starts it anew."""
    COMMUNITY, USER, PASSWORD, PRIVACY = "room-community", "reader", "auth-secret", "privacy-secret"
    APC = {"1.3.6.1.4.1.318.1.1.26.4.3.1.5.1": ("integer", 123), "1.3.6.1.4.1.318.1.1.26.4.3.1.9.1": ("integer", 45678)}
    RARITAN = {"1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5": ("uinteger", 3440), "1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.5": ("uinteger", 1),
               "1.3.6.1.4.1.13742.6.3.5.4.1.6.1.5.5": ("integer", 3), "1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.8": ("uinteger", 89890),
               "1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.8": ("uinteger", 0), "1.3.6.1.4.1.13742.6.3.5.4.1.6.1.5.8": ("integer", 5),
               "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5": ("uinteger", 1234), "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5": ("uinteger", 0),
               "1.3.6.1.4.1.13742.6.3.3.4.1.6.1.1.5": ("integer", 3)}
    OTHER = {"1.3.6.1.4.1.99999.1.0": ("octet_str", '"0.345"'), "1.3.6.1.4.1.99999.2.0": ("counter", 4294967290)}

    def __init__(self, folder, objects=None):
        super().__init__(folder)
        self.port = free_port()
        self.objects = objects or {**self.APC, **self.RARITAN, **self.OTHER}

    def up(self):
        lines = [f"agentaddress udp:127.0.0.1:{self.port}", f"rocommunity {self.COMMUNITY} 127.0.0.1",
                 f'createUser {self.USER} SHA "{self.PASSWORD}" AES "{self.PRIVACY}"', f"rouser {self.USER} priv"]
        lines += [f"override .{oid} {kind} {value}" for oid, (kind, value) in self.objects.items()]
        (self.folder / "snmpd.conf").write_text("\n".join(lines) + "\n")
        self.start([tool("snmpd"), "-f", "-C", "-c", self.folder / "snmpd.conf", "-Lo", "-I", "-smux,-mteTrigger"],
                   {"SNMP_PERSISTENT_DIR": str(self.folder / "state"), "MIBS": ""})
        self.wait_until(self.answers)

    def answers(self):
        """A get of sysUpTime.0 by version 2c, by hand, gets any answer."""
        community = self.COMMUNITY.encode()
        pdu = bytes.fromhex("a019" "020101" "020100" "020100" "300e" "300c" "06082b06010201010300" "0500")
        body = b"\x02\x01\x01\x04" + bytes([len(community)]) + community + pdu
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.2)
            probe.sendto(b"\x30" + bytes([len(body)]) + body, ("127.0.0.1", self.port))
            try:
                return len(probe.recv(500)) > 0
            except OSError:
                return False


class MqttBroker(Server):
    """User "meter" with the password "mqtt-secret", who may read tele/#; anyone may publish. With the files of an `identity`
    (certificate, key) it answers at `tls_port`, too."""
    USER, PASSWORD = "meter", "mqtt-secret"

    def __init__(self, folder, identity=None):
        super().__init__(folder)
        self.port, self.tls_port, self.identity = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_STREAM), identity

    def up(self):
        passwords, acl = self.folder / "passwords", self.folder / "acl"
        if not passwords.exists():
            passwords.touch(mode=0o600)
            subprocess.run(["mosquitto_passwd", "-b", passwords, self.USER, self.PASSWORD], check=True, capture_output=True)
            subprocess.run(["mosquitto_passwd", "-b", passwords, "plug", "plug-secret"], check=True, capture_output=True)
        acl.write_text(f"user {self.USER}\ntopic read tele/#\nuser plug\ntopic readwrite #\n")
        tls = "listener {} 127.0.0.1\ncertfile {}\nkeyfile {}\n".format(self.tls_port, *self.identity) if self.identity else ""
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\n{tls}password_file {passwords}\nacl_file {acl}\nallow_anonymous false\nuser root\n")
        self.start([tool("mosquitto"), "-c", self.folder / "mosquitto.conf"])
        self.wait_until(self.answers)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.2).close()
            return True
        except OSError:
            return False

    def publish(self, topic, payload, retain=False):
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-u", "plug", "-P", "plug-secret", "-t", topic, "-s",
                        *(["-r"] if retain else [])], input=payload if isinstance(payload, bytes) else payload.encode(), check=True, timeout=10)


def make_identity(folder, name):
    """Files of a certificate for 127.0.0.1 that vouches for itself, and of its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return str(certificate), str(key)


class Publisher:
    """A plug that publishes every `every` seconds, as long as the block lasts; `payload` may be changed meanwhile."""

    def __init__(self, broker, topic, payload, every=0.3):
        self.payload, self.stopping = payload, threading.Event()
        self.thread = threading.Thread(target=self.run, args=(broker, topic, every))

    def run(self, broker, topic, every):
        while not self.stopping.wait(every):
            try:
                broker.publish(topic, self.payload)
            except subprocess.SubprocessError:
                pass  # the broker is frozen or gone: a real plug loses its message too

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


class Relay:
    """Hands datagrams to and fro between any client and a server. `mode`: "pass", "silent", "slow" (answers 5 s late), "rubbish"
    (answers random bytes at once)."""
    SLOW_S = 5.0

    def __init__(self, server_port, mode="pass"):
        self.mode, self.server = mode, ("127.0.0.1", server_port)
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        self.front.settimeout(0.1)
        self.random = random.Random(7)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.backs = {}  # client's address -> the socket that speaks for it

    def run(self):
        while not self.stopping.is_set():
            try:
                data, client = self.front.recvfrom(65536)
            except OSError:
                continue
            if self.mode == "silent":
                continue
            if self.mode == "rubbish":
                self.front.sendto(self.random.randbytes(self.random.randrange(1, 200)), client)
                continue
            if client not in self.backs:
                back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                back.settimeout(0.1)
                self.backs[client] = back
                threading.Thread(target=self.answer, args=(back, client), daemon=True).start()
            self.backs[client].sendto(data, self.server)

    def answer(self, back, client):
        while not self.stopping.is_set():
            try:
                data = back.recv(65536)
            except OSError:
                continue
            if self.mode == "slow" and self.stopping.wait(self.SLOW_S):
                return
            if self.mode != "silent":
                self.front.sendto(data, client)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        for back in self.backs.values():
            back.close()
        self.front.close()
