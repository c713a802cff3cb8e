"""Power limits: listed, held while a command runs, and put back whatever becomes of those who held them. Over a tree of plain files
that has limits, over a fake NVML, and through an agent for users without any right."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import jsonschema
import pytest

from conftest import ROOT, built, clean_environment, json_in, one_line

LIMIT_S = 60
NOBODY = 65534
ZONE = "sys/class/powercap/intel-rapl:0"
LONG = f"{ZONE}/constraint_0_power_limit_uw"
SHORT = f"{ZONE}/constraint_1_power_limit_uw"
CARD = "sys/class/hwmon/hwmon0/power1_cap"
FILES = {
    f"{ZONE}/name": "package-0", f"{ZONE}/enabled": "1", f"{ZONE}/energy_uj": "1000000", f"{ZONE}/max_energy_range_uj": "262143328850",
    f"{ZONE}/constraint_0_name": "long_term", LONG: "125000000", f"{ZONE}/constraint_0_max_power_uw": "125000000",
    f"{ZONE}/constraint_0_time_window_us": "27983872", f"{ZONE}/constraint_1_name": "short_term", SHORT: "250000000",
    "sys/class/hwmon/hwmon0/name": "amdgpu", CARD: "250000000", f"{CARD}_min": "100000000", f"{CARD}_max": "300000000",
    f"{CARD}_default": "280000000",
}
REPORT = json.loads((ROOT / "data/schemas/report.json").read_text())
POWER = json.loads((ROOT / "data/schemas/power.json").read_text())


def make_tree(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    for name in ("proc", "sys/devices/system/cpu", "sys/fs/cgroup"):  # the rest of the machine is this one
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to("/" + name)
    return root


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "machine")


def value(tree, name):
    return int((tree / name).read_text())


def eventually(condition):
    """What another process does soon; a limit only so that a hang fails."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def journals(run):
    return list((run.home / "state/joulery/power").glob("*.undo"))


# ---- the list ----

def test_the_list_tells_every_limit(run, tree):
    told = json.loads(run("power", "--json", "--sysroot", tree, check=0).stdout)
    jsonschema.validate(told, POWER)
    limits = {(one["component"], one["name"]): one for one in told["limits"]}
    assert set(limits) == {("node/cpu/package-0", "long_term"), ("node/cpu/package-0", "short_term"), ("node/gpu/amdgpu-0", "power1_cap")}
    long_term = limits["node/cpu/package-0", "long_term"]
    assert (long_term["watts"], long_term["most_watts"], long_term["least_watts"], long_term["window_s"]) == (125, 125, None, 27.983872)
    assert long_term["usual"] and long_term["settable"] and long_term["holder"] == ""
    card = limits["node/gpu/amdgpu-0", "power1_cap"]
    assert (card["watts"], card["least_watts"], card["most_watts"], card["default_watts"]) == (250, 100, 300, 280)
    text = run("power", "--sysroot", tree, check=0).stdout
    assert "node/cpu/package-0 (long_term)" in text and "can be set" in text


def test_a_machine_without_limits_says_why(run, tmp_path):
    (tmp_path / "bare/sys").mkdir(parents=True)
    told = json.loads(run("power", "--json", "--sysroot", tmp_path / "bare", check=0).stdout)
    jsonschema.validate(told, POWER)
    assert told["limits"] == [] and told["reason"] and told["remedy"]
    assert "none" in run("power", "--sysroot", tmp_path / "bare", check=0).stdout


# ---- joulery run, directly ----

SHOW = "cat {0}"


def test_a_limit_holds_while_the_command_runs_and_goes_back(run, tree):
    (tree / LONG).write_text("110000000\n")  # the owner's own setting: not the hardware's greatest
    done = run("run", "--sysroot", tree, "--power-limit", "node/cpu/package-0=90W,node/gpu/amdgpu-0=150W", "-o", run.home / "r.joulery", "--",
               "sh", "-c", f"cat {tree / LONG} {tree / CARD}; exit 7", check=7)
    assert done.stdout.split() == ["90000000", "150000000"]
    assert (value(tree, LONG), value(tree, CARD)) == (110000000, 250000000)
    assert journals(run) == []
    report = run.report(run.home / "r.joulery")
    jsonschema.validate(report, REPORT)
    package, card = report["power_limits"]
    assert (package["component"], package["name"], package["asked_watts"], package["watts"], package["before_watts"]) == (
        "node/cpu/package-0", "long_term", 90, 90, 110)
    assert package["by"] == "joulery" and package["changed"] is None
    row = next(one for one in report["components"] if one["path"] == "node/cpu/package-0")
    assert package["joules"] == row["joules"]
    assert card["joules"] is None and "node/gpu/amdgpu-0" in card["reason"]
    for form in ((), ("--markdown",), ("--html",)):
        text = run("report", run.home / "r.joulery", *form, check=0).stdout
        assert "90 W" in text and "instead of 110 W" in text, form
    assert "power_limits" not in json_in(run("run", "--sysroot", tree, "--no-save", "--json", "--", "true").stderr)


def test_a_limit_that_is_named_is_the_one_that_is_set(run, tree):
    done = run.run("--sysroot", tree, "--power-limit", "node/cpu/package-0:short_term=200W", "--", "cat", tree / SHORT, tree / LONG, check=0)
    assert done.stdout.split() == ["200000000", "125000000"]
    assert value(tree, SHORT) == 250000000


@pytest.mark.parametrize("words, names", [
    ("node/cpu/package-0=126W", ("1 W to 125 W",)),
    ("node/gpu/amdgpu-0=99W", ("100 W to 300 W",)),
    ("node/cpu/package-7=90W", ("no such power limit",)),
    ("node/cpu/package-0:peak=90W", ("no such power limit",)),
    ("node/cpu/package-0=90W,node/gpu/amdgpu-0=301W", ("100 W to 300 W",)),
])
def test_what_cannot_be_set_stops_before_the_command_starts(run, tree, words, names):
    done = run.run("--sysroot", tree, "--power-limit", words, "--", "touch", run.home / "ran", check=125)
    one_line(done.stderr, *names)
    assert not (run.home / "ran").exists()
    assert (value(tree, LONG), value(tree, CARD)) == (125000000, 250000000)
    assert journals(run) == []


@pytest.mark.parametrize("words", ["90W", "node/gpu/0", "node/gpu/0=", "node/gpu/0=12J", "node/gpu/0=0W", "node/gpu/0=-5W", "a=1W,a=2W", "=1W", "a:=1W"])
def test_a_request_that_makes_no_sense_is_refused(run, tree, words):
    done = run.run("--sysroot", tree, "--power-limit", words, "--", "touch", run.home / "ran")
    assert done.returncode == 2 and not (run.home / "ran").exists()
    one_line(done.stderr, "--power-limit")


def started(run, tree):
    child = run.start("run", "--no-save", "--quiet", "--sysroot", str(tree), "--power-limit", "node/cpu/package-0=90W", "--", "sh", "-c",
                      "echo begun; exec sleep 600", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "begun\n", child.stderr.read()
    assert value(tree, LONG) == 90000000
    return child


def guardian_of(child):
    """The pid of the process that would put limits back if `child` were killed."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"--guard" in words and int(parent) == child.pid:
            return int(entry.name)
    raise AssertionError("nobody stands guard")


def end(child):
    """Ends what a killed joulery left running."""
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate(timeout=LIMIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_limit_goes_back_after_a_signal(run, tree, number):
    child = started(run, tree)
    os.killpg(child.pid, number)  # as a terminal does: to the command too
    child.communicate(timeout=LIMIT_S)
    assert child.returncode == 128 + number
    assert value(tree, LONG) == 125000000 and journals(run) == []


def test_a_limit_goes_back_after_kill_9(run, tree):
    child = started(run, tree)
    child.kill()
    eventually(lambda: value(tree, LONG) == 125000000)
    eventually(lambda: journals(run) == [])
    end(child)


def test_a_limit_goes_back_when_its_guardian_is_killed(run, tree):
    child = started(run, tree)
    os.kill(guardian_of(child), signal.SIGKILL)
    os.killpg(child.pid, signal.SIGTERM)
    child.communicate(timeout=LIMIT_S)
    assert value(tree, LONG) == 125000000 and journals(run) == []


@pytest.mark.parametrize("who_comes_next", ["power", "restore", "run"])
def test_what_nobody_could_put_back_is_put_back_by_who_comes_next(run, tree, who_comes_next):
    child = started(run, tree)
    guardian = guardian_of(child)
    os.kill(child.pid, signal.SIGSTOP)
    os.kill(guardian, signal.SIGKILL)
    os.kill(child.pid, signal.SIGKILL)
    end(child)
    assert value(tree, LONG) == 90000000 and len(journals(run)) == 1
    words = {"power": ["power"], "restore": ["power", "--restore"], "run": ["run", "--no-save", "--quiet"]}[who_comes_next]
    command = ["--", "cat", str(tree / LONG)] if who_comes_next == "run" else []
    done = run(*words, "--sysroot", tree, *command, check=0)
    assert "back at 125 W" in done.stderr
    if command:
        assert done.stdout == "125000000\n"
    assert value(tree, LONG) == 125000000 and journals(run) == []
    assert "nothing was left" in run("power", "--restore", "--sysroot", tree, check=0).stdout


def test_what_somebody_else_changed_is_left_alone_and_told(run, tree):
    done = run("run", "--sysroot", tree, "--power-limit", "node/cpu/package-0=90W", "-o", run.home / "r.joulery", "--", "sh", "-c",
               f"echo 70000000 > {tree / LONG}", check=0)
    assert value(tree, LONG) == 70000000
    assert "somebody else set it to 70 W" in done.stderr
    report = run.report(run.home / "r.joulery")
    jsonschema.validate(report, REPORT)
    assert "70 W" in report["power_limits"][0]["changed"]
    assert any(flag.startswith("power-limit: node/cpu/package-0") for flag in report["flags"])


def test_two_runs_do_not_hold_one_limit(run, tree):
    first = started(run, tree)
    told = json.loads(run("power", "--json", "--sysroot", tree, check=0).stdout)
    holder = next(one["holder"] for one in told["limits"] if one["name"] == "long_term")
    assert str(first.pid) in holder
    second = run.run("--sysroot", tree, "--power-limit", "node/cpu/package-0=80W", "--", "true", check=125)
    one_line(second.stderr, "holds", str(first.pid))
    assert value(tree, LONG) == 90000000
    os.killpg(first.pid, signal.SIGTERM)
    first.communicate(timeout=LIMIT_S)
    assert value(tree, LONG) == 125000000


def test_a_limit_holds_through_all_repeats(run, tree):
    done = run.run("--sysroot", tree, "-r", "3", "--warmup", "1", "--power-limit", "node/cpu/package-0=90W", "--", "cat", tree / LONG, check=0)
    assert done.stdout.split() == ["90000000"] * 4
    assert value(tree, LONG) == 125000000


# ---- NVIDIA ----

@pytest.fixture
def gpu(run):
    library = built("standins/libnvidia-ml.so.1")
    assert library, "the stand-in for NVIDIA's library is not built"
    script = run.home / "gpus"
    script.write_text("gpu 0 watts 0 300\ngpu 0 limit 200 700 600\n")
    run.environment.update(LD_LIBRARY_PATH=str(library.parent), FAKE_NVML_SCRIPT=str(script))
    return script


def test_a_gpus_limit_is_held_and_goes_back(run, gpu):
    if os.geteuid() != 0:
        pytest.skip("skipped: needs root, as NVIDIA's driver does")
    kept = gpu.with_name("gpus.limit.0")
    kept.write_text("550000\n")
    done = run("run", "--power-limit", "node/gpu/0=250W", "-o", run.home / "r.joulery", "--", "sh", "-c", f"cat {kept}; sleep 0.5", check=0)
    assert done.stdout == "250000\n" and kept.read_text() == "550000\n"
    limit, = run.report(run.home / "r.joulery")["power_limits"]
    assert (limit["watts"], limit["before_watts"], limit["enforced_watts"]) == (250, 550, 250)
    assert limit["joules"] > 0
    child = run.start("run", "--no-save", "--quiet", "--power-limit", "node/gpu/0=300W", "--", "sh", "-c", "echo begun; exec sleep 600",
                      stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "begun\n" and kept.read_text() == "300000\n"
    child.kill()
    eventually(lambda: kept.read_text() == "550000\n")
    end(child)


def test_a_gpu_that_is_partitioned_or_refuses_says_so(run, gpu):
    gpu.write_text("gpu 0 limit 200 700\ngpu 0 mig 3 0 MIG-11111111-aaaa 20096 512\n")
    done = run.run("--power-limit", "node/gpu/0=250W", "--", "true", check=125)
    one_line(done.stderr, "MIG")
    if os.geteuid() != 0:
        return
    gpu.write_text("gpu 0 limit 200 700\ngpu 0 return nvmlDeviceSetPowerManagementLimit 3\n")
    done = run.run("--power-limit", "node/gpu/0=250W", "--", "true", check=125)
    one_line(done.stderr, "does not let its power limit be set")


# ---- through an agent ----

UNIT = ROOT / "integrations/systemd/joulery-agent.service"


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


def as_the_unit_starts_it(uid):
    """setpriv with the capabilities that the unit for systemd gives, and no others, to a user that is not root."""
    line = next(line for line in UNIT.read_text().splitlines() if line.startswith("AmbientCapabilities="))
    given = ",".join("+" + name.removeprefix("CAP_").lower() for name in line.partition("=")[2].split())
    words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", f"--inh-caps=-all,{given}", f"--ambient-caps=-all,{given}",
             f"--bounding-set=-all,{given}", "--no-new-privs"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("skipped: these capabilities cannot be given here")
    return words


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
    assert "has ended" in node.log.read_text()


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
