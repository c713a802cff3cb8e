"""Power limits through an agent, for users without any right: who may, who holds one, and what becomes of it when a client, the agent, or both are
killed. Over a tree of plain files whose limits root alone may write; needs root itself, to be both the agent and other users."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import jsonschema
import pytest

from conftest import ROOT, as_the_unit_starts_it, built, clean_environment, one_line
from limit_tree import LIMIT_S, LONG, eventually, make_tree, value

NOBODY = 65534
REPORT = json.loads((ROOT / "data/schemas/report.json").read_text())


class Node:
    """An agent on a tree whose limits root alone may write, and other users beside it."""

    def __init__(self, joulery):
        self.joulery = joulery
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="joulery-power-"))  # pytest's own folders are closed to other users
        self.folder.chmod(0o755)
        self.tree = make_tree(self.folder / "machine")
        self.home = self.folder / "home"
        for name in ("home", "store", "run"):
            (self.folder / name).mkdir()
        os.chown(self.home, NOBODY, NOBODY)
        self.socket = self.folder / "run" / "meters.sock"
        self.log = self.folder / "agent.log"
        self.children = []

    def environment(self, home):
        return {**clean_environment(home), "JOULERY_AGENT_METERS_SOCKET": str(self.socket)}

    def agent(self, *sets, user=()):
        words = [word for one in sets for word in ("--set", one)]
        with self.log.open("a") as log:
            child = subprocess.Popen([*user, str(built("joulery-agent")), "--interval", "500ms", "--listen", "127.0.0.1:0", "--store",
                                      str(self.folder / "store"), "--sysroot", str(self.tree), *words],
                                     env=self.environment(self.folder), stdout=subprocess.PIPE, stderr=log, text=True)
        self.children.append(child)
        line = child.stdout.readline()
        assert "ready" in line and str(self.socket) in line, line + self.log.read_text()
        return child

    def words_of(self, uid):
        return [] if uid == os.geteuid() else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]

    def start(self, *words, uid=NOBODY, home=None, **options):
        child = subprocess.Popen([*self.words_of(uid), self.joulery, *map(str, words)], env=self.environment(home or self.home),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                 start_new_session=True, **options)
        self.children.append(child)
        return child

    def __call__(self, *words, uid=NOBODY, check=0):
        child = self.start(*words, uid=uid)
        out, err = child.communicate(timeout=LIMIT_S)
        assert child.returncode == check, err
        return out, err

    def holder(self):
        child = self.start("run", "--no-save", "--quiet", "--power-limit", "node/cpu/package-0=90W", "--", "sh", "-c", "echo begun; exec sleep 600")
        assert child.stdout.readline() == "begun\n", child.stderr.read()
        assert value(self.tree, LONG) == 90000000
        return child

    def close(self):
        for child in self.children:
            for kill in (child.kill, lambda pid=child.pid: os.killpg(pid, signal.SIGKILL) if os.getpgid(0) != pid else None):
                try:
                    kill()
                except (ProcessLookupError, PermissionError):
                    pass
            child.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def node(joulery):
    if built("joulery-agent") is None:
        pytest.skip("skipped: joulery-agent is not built")
    if os.geteuid() != 0:
        pytest.skip("skipped: needs root, to be both an agent and other users")
    made = Node(joulery)
    yield made
    made.close()


CONTROL = f"agent.meters.control_power={NOBODY}"


def test_a_named_user_holds_a_limit_through_an_agent_that_is_not_root(node):
    uid = NOBODY - 1
    for name in ("store", "run"):
        os.chown(node.folder / name, uid, uid)
    agent = node.agent(CONTROL, user=as_the_unit_starts_it(uid))
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{agent.pid}/status").read_text().splitlines() if ":\t" in line)
    assert int(status["CapEff"], 16) & (1 << 1) == 0, "the right to write what root owns is given up: the file was opened before"
    out, _ = node("run", "-o", node.home / "r.joulery", "--quiet", "--power-limit", "node/cpu/package-0=90W", "--", "cat", node.tree / LONG)
    assert out == "90000000\n" and value(node.tree, LONG) == 125000000
    report = json.loads(node("report", node.home / "r.joulery", "--json")[0])
    jsonschema.validate(report, REPORT)
    limit, = report["power_limits"]
    assert limit["by"] == "agent" and limit["watts"] == 90 and limit["before_watts"] == 125 and limit["changed"] is None
    log = node.log.read_text()
    assert "125 W -> 90 W" in log and "pid" in log and "back at 125 W" in log


def test_a_user_who_is_not_named_reads_the_limits_and_sets_none(node):
    node.agent()  # as configured by default: root alone
    limits = json.loads(node("power", "--json")[0])["limits"]
    package = next(one for one in limits if one["name"] == "long_term")
    assert package["watts"] == 125 and not package["settable"]
    assert "agent.meters.control_power" in package["reason"] and "joulery.toml" in package["remedy"]
    _, err = node("run", "--no-save", "--quiet", "--power-limit", "node/cpu/package-0=90W", "--", "touch", node.home / "ran", check=125)
    one_line(err, "may not set power limits", "control_power")
    assert not (node.home / "ran").exists() and value(node.tree, LONG) == 125000000


def test_root_is_named_by_default_and_others_can_be(node):
    node.agent()
    out, _ = node("run", "--no-save", "--quiet", "--power-limit", "node/cpu/package-0=90W", "--", "cat", node.tree / LONG, uid=0)
    assert out == "90000000\n" and value(node.tree, LONG) == 125000000


def test_where_nobody_is_named_nothing_is_opened_for_writing(node):
    agent = node.agent("agent.meters.control_power=")
    for entry in pathlib.Path(f"/proc/{agent.pid}/fd").iterdir():
        if str(node.tree) in os.readlink(entry):
            flags = int(pathlib.Path(f"/proc/{agent.pid}/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0], 8)
            assert flags & os.O_ACCMODE == os.O_RDONLY, os.readlink(entry)
    _, err = node("run", "--no-save", "--quiet", "--power-limit", "node/cpu/package-0=90W", "--", "true", check=125)
    one_line(err, "nobody")


def test_one_holder_excludes_others_by_name(node):
    node.agent(f"agent.meters.control_power=root,{NOBODY}")
    first = node.holder()
    _, err = node("run", "--no-save", "--quiet", "--power-limit", "node/cpu/package-0=80W", "--", "true", uid=0, check=125)
    one_line(err, "holds", str(first.pid))
    told = json.loads(node("power", "--json")[0])["limits"]
    assert str(first.pid) in next(one["holder"] for one in told if one["name"] == "long_term")
    assert value(node.tree, LONG) == 90000000


def test_a_client_that_is_killed_loses_its_limit(node):
    node.agent(CONTROL)
    child = node.holder()
    child.kill()
    eventually(lambda: value(node.tree, LONG) == 125000000)
    eventually(lambda: "has ended" in node.log.read_text())


def test_an_agent_that_stops_puts_limits_back_and_the_run_says_so(node):
    agent = node.agent(CONTROL)
    child = node.start("run", "-o", node.home / "r.joulery", "--power-limit", "node/cpu/package-0=90W", "--", "sh", "-c", "echo begun; read line")
    assert child.stdout.readline() == "begun\n"
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(timeout=LIMIT_S) == 0
    assert value(node.tree, LONG) == 125000000
    _, err = child.communicate("end\n", timeout=LIMIT_S)
    assert child.returncode == 0 and "went away" in err
    report = json.loads(node("report", node.home / "r.joulery", "--json")[0])
    assert "went away" in report["power_limits"][0]["changed"]


@pytest.mark.parametrize("client_too", [False, True])
@pytest.mark.parametrize("control", [CONTROL, "agent.meters.control_power="])
def test_an_agent_that_is_killed_puts_limits_back_when_it_starts_again(node, client_too, control):
    agent = node.agent(CONTROL)
    child = node.holder()
    agent.kill()
    agent.wait()
    if client_too:
        child.kill()
        child.wait()
    assert value(node.tree, LONG) == 90000000
    node.agent(control)
    assert value(node.tree, LONG) == 125000000
    assert "left by an agent that was killed" in node.log.read_text()
    assert list((node.folder / "store/power").glob("*.undo")) == []


def test_an_agent_leaves_alone_what_somebody_else_changed(node):
    node.agent(CONTROL)
    child = node.holder()
    (node.tree / LONG).write_text("60000000\n")
    child.kill()
    eventually(lambda: "somebody else set it to 60 W" in node.log.read_text())
    assert value(node.tree, LONG) == 60000000


def test_out_of_range_is_refused_with_the_range(node):
    node.agent(CONTROL)
    _, err = node("run", "--no-save", "--quiet", "--power-limit", "node/gpu/amdgpu-0=99W", "--", "true", check=125)
    one_line(err, "100 W to 300 W")


ASK = r"""
import json, socket, struct, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect(sys.argv[1])
hello = json.loads(line.recv(1 << 17)[8:])
answers = []
for n in range(int(sys.argv[2])):
    wanted = {"component": "node/cpu/package-0", "name": "", "microwatts": 90000000 + n}
    line.send(struct.pack("=HHI", 5, 0, n + 1) + json.dumps(wanted).encode())
    answers.append(json.loads(line.recv(1 << 17)[8:]))
print(json.dumps({"controls": hello["controls"], "answers": answers}))
"""


def test_changes_are_limited_by_rate(node):
    node.agent(CONTROL)
    done = subprocess.run([*node.words_of(NOBODY), "/usr/bin/python3", "-c", ASK, str(node.socket), "30"], capture_output=True, text=True,
                          timeout=LIMIT_S)
    told = json.loads(done.stdout)
    assert told["controls"] is True
    refused = [one for one in told["answers"] if "error" in one]
    assert refused and all("too many changes" in one["error"] for one in refused)
    assert all("took_uw" in one for one in told["answers"][:10])
    eventually(lambda: value(node.tree, LONG) == 125000000)
