"""What an agent gives of its meters to others, over its UNIX socket: users without any right measure with them. Under a fake RAPL that only
root may read; needs root itself, to be both the agent and somebody else."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import as_the_unit_starts_it, built, clean_environment

NOBODY = 65534
LIMIT_S = 60
PACKAGE, DRAM = "node/cpu/package-0", "node/dram/package-0"


class Stage:
    """A fake RAPL that outlives the agents on it; agents and commands are started in its mount namespace."""

    def __init__(self, with_rapl):
        # pytest's own folders are closed to other users.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="joulery-meters-"))
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.home.mkdir()
        os.chown(self.home, NOBODY, NOBODY)
        self.socket = self.folder / "run" / "meters.sock"
        self.holder = subprocess.Popen([*with_rapl, "--mode", "0400", "--", "sh", "-c", "echo $$ $RAPL_TRUTH; exec sleep 600"],
                                       stdout=subprocess.PIPE, text=True, start_new_session=True)
        pid, truth = self.holder.stdout.readline().split()
        self.enter = ["nsenter", f"--target={pid}", "--mount", "--root", "--wd=/", "--"]  # its root too: all this may run in a chroot
        self.truth_file = pathlib.Path(f"/proc/{pid}/root{truth}")
        self.agents = []

    def environment(self, home):
        return {**clean_environment(home), "JOULERY_AGENT_METERS_SOCKET": str(self.socket)}

    def agent(self, *sets, user=(), **more):
        """An agent that is ready; `user`: what to start it with as somebody else than root; `more`: of its environment."""
        words = [word for one in sets for word in ("--set", one)]
        child = subprocess.Popen([*self.enter, *user, str(built("joulery-agent")), "--interval", "500ms", "--listen", "127.0.0.1:0", "--store",
                                  str(self.folder / "store"), *words], env={**self.environment(self.folder), **more}, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        self.agents.append(child)
        line = child.stdout.readline()
        assert "ready" in line and str(self.socket) in line, line
        return child

    def as_nobody(self, *words, **options):
        """A command of another user, started; in the agent's view of /sys."""
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return subprocess.Popen([*self.enter, *user, *map(str, words)], env=self.environment(self.home), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def told_by(self, *words):
        """Exit code, output and errors of a command of another user."""
        child = self.as_nobody(*words)
        out, err = child.communicate(timeout=LIMIT_S)
        return child.returncode, out, err

    def truth(self):
        """Joules of the model itself by zone, since it began."""
        lines = (line.split() for line in self.truth_file.read_text().splitlines())
        return {words[1]: int(words[2]) * 1e-6 for words in lines if len(words) == 3 and words[2].isdigit()}

    def close(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.kill()
            agent.communicate()
        os.killpg(self.holder.pid, signal.SIGTERM)
        self.holder.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def stage(with_rapl):
    if built("joulery-agent") is None:
        pytest.skip("skipped: joulery-agent is not built")
    if os.geteuid() != 0:
        pytest.skip("skipped: needs root, to be both an agent and another user")
    made = Stage(with_rapl)
    yield made
    made.close()


def measured(stage, joulery, script, during=lambda: None, code=0):
    """`joulery run` by nobody: the report of a command that says `begun` and ends when it is told to, and the model's own joules of the time
    while it surely ran and of the time in which it did."""
    outer = stage.truth()
    run = stage.as_nobody(joulery, "run", "--json", "--summary", stage.home / "summary.json", "-o", stage.home / "run.joulery", "--", "sh", "-c",
                          f"echo begun; {script}", stdin=subprocess.PIPE)
    assert run.stdout.readline() == "begun\n", run.stderr.read()
    inner = stage.truth()
    during()
    inner = {zone: joules - inner[zone] for zone, joules in stage.truth().items()}
    _, err = run.communicate("end\n", timeout=LIMIT_S)
    outer = {zone: joules - outer[zone] for zone, joules in stage.truth().items()}
    assert run.returncode == code, err
    return json.loads((stage.home / "summary.json").read_text()), inner, outer


def row(report, path):
    found = [one for one in report["components"] if one["path"] == path]
    assert len(found) == 1, [one["path"] for one in report["components"]]
    return found[0]


def zone_of(truth, name):
    return next(joules for zone, joules in truth.items() if zone == name)


def test_a_user_without_rights_measures_with_the_agents_meters(stage, joulery):
    stage.agent()
    report, inner, outer = measured(stage, joulery, "read line", during=lambda: time.sleep(2))
    for path, zone in ((PACKAGE, "package-0"), (DRAM, "dram")):
        told = row(report, path)
        assert told["quality"] == "measured" and told["meter"] == "rapl.powercap"
        assert zone_of(inner, zone) <= told["high"] and told["low"] <= zone_of(outer, zone)
        assert told["joules"] == pytest.approx(zone_of(inner, zone), rel=0.25)
    assert any(flag.startswith("by-agent: rapl.powercap") for flag in report["flags"])
    missing = [one["path"] for one in report["components"] if one["joules"] is None]
    assert missing == ["node/rest"], "what the agent gives is not missing"


def test_a_users_gpu_is_measured_with_the_agents_driver(stage, joulery):
    """The user's own program finds no driver; and of the GPU's processes it is told none but its own."""
    library = built("standins/libnvidia-ml.so.1")
    script = stage.folder / "script"
    script.write_text("gpu 0 name NVIDIA H100 80GB HBM3\ngpu 0 uuid GPU-aaaa0000-0000\ngpu 0 window 1000\ngpu 0 instant 25\n"
                      "gpu 0 watts 0 300\ngpu 0 process 1 1024 60 20 0 0\n")
    stage.agent(LD_LIBRARY_PATH=str(library.parent), FAKE_NVML_SCRIPT=str(script))
    report, _, _ = measured(stage, joulery, "read line", during=lambda: time.sleep(2.5))
    gpu = row(report, "node/gpu/0")
    assert gpu["quality"] == "measured" and gpu["meter"] == "nvml"
    # Its counter steps each 100 ms, and the agent tells a user 10 mJ and no finer, each 100 ms and no oftener.
    assert gpu["joules"] == pytest.approx(300 * report["duration_s"], abs=300 * 0.5)
    assert any(flag.startswith("by-agent: ") and "nvml GPU-aaaa0000" in flag for flag in report["flags"])
    code, out, err = stage.told_by(joulery, "sql", stage.home / "run.joulery", "SELECT pid FROM device_processes")
    assert (code, out.split()) == (0, ["pid"]), err


KEPT = {2: "dac_read_search", 19: "sys_ptrace", 38: "perfmon", 39: "bpf"}  # capabilities(7), by number


def test_an_agent_needs_no_root_but_what_the_unit_gives_it(stage, joulery):
    uid = NOBODY - 1
    for name in ("store", "run"):
        (stage.folder / name).mkdir()
        os.chown(stage.folder / name, uid, uid)
    agent = stage.agent(user=as_the_unit_starts_it(uid))
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{agent.pid}/status").read_text().splitlines() if ":\t" in line)
    assert set(status["Uid"].split()) == {str(uid)}
    for which in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        assert int(status[which], 16) & ~sum(1 << number for number in KEPT) == 0, (which, status[which])
    assert status["Seccomp"].strip() == "2"
    report, inner, outer = measured(stage, joulery, "read line", during=lambda: time.sleep(1))
    told = row(report, PACKAGE)
    assert told["quality"] == "measured", "it reads counters that root alone may open"
    assert zone_of(inner, "package-0") <= told["high"] and told["low"] <= zone_of(outer, "package-0")


def test_the_doctor_says_who_reads(stage, joulery):
    stage.agent()
    code, out, _ = stage.told_by(joulery, "doctor", "--json")
    told = json.loads(out)
    assert code == 0 and told["measures"] is True
    findings = {(one["kind"], one["device"]): one for one in told["meters"]}
    assert "read by the agent" in findings["rapl.powercap", "powercap"]["reason"]
    assert "rounded" in findings["agent", ""]["reason"]
    assert not [one for one in told["meters"] if one["kind"] == "rapl.powercap" and not one["readable"]]
    exact = subprocess.run([*stage.enter, joulery, "doctor", "--json"], env=stage.environment(stage.folder), capture_output=True, text=True,
                           timeout=LIMIT_S)
    findings = {(one["kind"], one["device"]): one for one in json.loads(exact.stdout)["meters"]}
    assert ("rapl.powercap", "package-0") in findings and ("rapl.powercap", "powercap") not in findings, "root reads them itself"
    assert "exactly" in findings["agent", ""]["reason"]


def test_a_user_who_is_not_named_is_refused_and_told_why(stage, joulery):
    stage.agent("agent.meters.read_own=root")
    code, out, _ = stage.told_by(joulery, "doctor", "--json")
    agent = next(one for one in json.loads(out)["meters"] if one["kind"] == "agent")
    assert code == 4 and agent["found"] and not agent["readable"]
    assert "may not read" in agent["reason"] and "agent.meters.read_own" in agent["reason"]


def test_log_and_top_read_them_too(stage, joulery):
    stage.agent()
    code, out, err = stage.told_by(joulery, "top", "--once", "--json", "--interval", "300ms")
    assert code == 0, err
    told = json.loads(out)
    assert told["joules"] > 0 and any(PACKAGE in one["components"] for one in told["rows"])
    log = stage.as_nobody(joulery, "log", "--interval", "200ms")
    lines = [log.stdout.readline() for _ in range(4)]
    log.terminate()
    _, err = log.communicate(timeout=LIMIT_S)
    assert "the agent of this node reads rapl.powercap powercap" in err
    code, out, _ = stage.told_by(joulery, "top", "--once", "--interval", "300ms")
    assert code == 0 and "The agent of this node reads rapl.powercap powercap" in " ".join(out.split())
    assert PACKAGE in lines[0] or any("package" in line for line in lines), lines


def test_runs_side_by_side_all_have_whole_figures(stage, joulery):
    stage.agent()
    runs = [stage.as_nobody(joulery, "run", "--json", "--summary", stage.home / f"{n}.json", "--no-save", "--", "sleep", "1.5") for n in range(4)]
    for n, run in enumerate(runs):
        _, err = run.communicate(timeout=LIMIT_S)
        assert run.returncode == 0, err
        report = json.loads((stage.home / f"{n}.json").read_text())
        for path in (PACKAGE, DRAM):
            assert row(report, path)["joules"] > 0 and not row(report, path)["reason"]


# ---- what a reader of one's own is told ----

ASK = r"""
import json, socket, struct, sys, time
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect(sys.argv[1])
hello = json.loads(line.recv(1 << 17)[8:])
line.send(struct.pack("=HHI", 1, 0, 1))
channels = json.loads(line.recv(1 << 17)[8:])["channels"]
begin, seen, asked = time.monotonic(), [], 0
while time.monotonic() < begin + float(sys.argv[2]):
    line.send(struct.pack("=HHI", 2, 0, 2 + asked))
    answer = line.recv(1 << 17)[8:]
    seen.append([struct.unpack_from("=q", answer, 25 * i)[0] for i in range(len(channels))])
    asked += 1
    time.sleep(0.001)
print(json.dumps({"hello": hello, "units": [c["unit"] for c in channels], "rounds": seen, "seconds": time.monotonic() - begin}))
"""


def asked(stage, seconds, nobody=True):
    words = ["/usr/bin/python3", "-c", ASK, str(stage.socket), str(seconds)]
    if nobody:
        code, out, err = stage.told_by(*words)
    else:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
        code, out, err = done.returncode, done.stdout, done.stderr
    assert code == 0, err
    return json.loads(out)


def test_who_asks_fast_sees_rounded_readings_at_the_rate(stage):
    stage.agent()
    told = asked(stage, 2)
    assert told["hello"]["schema"] == "joulery.meters/1" and told["hello"]["scope"] == "read_own"
    values = [one[0] for one in told["rounds"]]
    assert told["units"][0] == 1e-6 and all(value % 10_000 == 0 for value in values)
    changes = sum(a != b for a, b in zip(values, values[1:]))
    assert 0 < changes <= 10 * told["seconds"] + 4 + 1


def test_root_reads_exactly_and_as_often_as_it_likes(stage):
    stage.agent()
    told = asked(stage, 2, nobody=False)
    assert told["hello"]["scope"] == "read_all" and told["hello"]["least_interval_ns"] == 0
    values = [one[0] for one in told["rounds"]]
    assert len(set(values)) > 40, "who is limited sees ten a second and a few at first"
    assert any(value % 10_000 for value in values)


# ---- an agent that goes ----

def test_an_agent_that_is_killed_leaves_a_named_gap_and_the_command_alone(stage, joulery):
    agent = stage.agent()

    def kill():
        time.sleep(1)
        agent.kill()
        agent.wait()
        time.sleep(1)

    report, _, _ = measured(stage, joulery, "read line; exit 7", during=kill, code=7)
    assert report["energy"]["partial"] is True
    assert "lost" in row(report, PACKAGE)["reason"]
    assert any("disappeared" in gap["reason"] for gap in report["sampling"]["gaps"])


def test_an_agent_that_comes_back_is_read_again(stage, joulery):
    agent = stage.agent()

    def restart():
        time.sleep(1)
        agent.kill()
        agent.wait()
        stage.agent()
        time.sleep(3)

    report, inner, outer = measured(stage, joulery, "read line", during=restart)
    told = row(report, PACKAGE)
    assert told["quality"] == "measured" and not told["reason"], "the counter ran on: its difference covers the gap"
    assert zone_of(inner, "package-0") <= told["high"] and told["low"] <= zone_of(outer, "package-0")
    assert any("disappeared" in gap["reason"] and not gap["energy_lost"] for gap in report["sampling"]["gaps"])


def test_an_agent_that_hangs_holds_nobody_up(stage, joulery):
    agent = stage.agent()

    def hang():
        time.sleep(1)
        agent.send_signal(signal.SIGSTOP)
        time.sleep(2)

    report, _, _ = measured(stage, joulery, "read line; exit 5", during=hang, code=5)
    assert any("no answer in time" in gap["reason"] for gap in report["sampling"]["gaps"])
    code, out, _ = stage.told_by(joulery, "doctor", "--json")
    found = next(one for one in json.loads(out)["meters"] if one["kind"] == "agent")
    assert code == 4 and "no answer in time" in found["reason"]


def test_a_socket_of_a_killed_agent_is_replaced_and_a_second_agent_serves_no_meters(stage):
    first = stage.agent()
    first.kill()
    first.wait()
    assert stage.socket.exists()
    second = stage.agent()
    other = subprocess.run([*stage.enter, "timeout", "5", str(built("joulery-agent")), "--listen", "127.0.0.1:0", "--store", str(stage.folder / "other")],
                           env=stage.environment(stage.folder), capture_output=True, text=True, timeout=LIMIT_S)
    assert "gives its meters to nobody" in other.stderr and "ready" in other.stdout
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=LIMIT_S) == 0
    assert not stage.socket.exists()
