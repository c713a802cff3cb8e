"""What the end-to-end tests share: the real program in a clean home, a scripted machine, a fake RAPL, recordings.

The program is $JOULERY, else joulery in $JOULERY_BUILD, build/release or build/dev, the first there is. Nothing here asserts on elapsed time:
limits are only there so that a hang fails instead of lasting.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STANDINS = ROOT / "tests" / "standins"
sys.path.insert(0, str(STANDINS))
from scripted_tree import ScriptedTree  # noqa: E402

LIMIT_S = 120
TWO_ZONES = [("intel-rapl:0", "package-0", 20.0), ("intel-rapl:0:0", "dram", 3.0)]


def built(name):
    """What the build made of that name, or None."""
    given = os.environ.get("JOULERY_BUILD")
    for folder in ([pathlib.Path(given)] if given else []) + [ROOT / "build" / "release", ROOT / "build" / "dev"]:
        if (folder / name).exists():
            return folder / name
    return None


def program():
    given = os.environ.get("JOULERY")
    return pathlib.Path(given) if given else built("joulery")


@pytest.fixture(scope="session")
def joulery():
    path = program()
    if path is None or not path.exists():
        pytest.fail("joulery is not built: cmake --preset release && cmake --build --preset release")
    return str(path)


def clean_environment(home):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("JOULERY", "XDG_", "NO_COLOR", "LC_", "LANG"))}
    keep.update(HOME=str(home), XDG_DATA_HOME=str(home / "data"), XDG_CONFIG_HOME=str(home / "config"),
                XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state"), LANG="C.UTF-8",
                JOULERY_AGENT_METERS_SOCKET="")  # no agent of this machine, unless a test names its own
    return keep


class Runner:
    """Calls the program in its own home; text in and out unless binary=True."""

    def __init__(self, joulery, home):
        self.joulery, self.home, self.environment = joulery, home, clean_environment(home)

    def __call__(self, *words, binary=False, env=None, check=None, **options):
        options.setdefault("timeout", LIMIT_S)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run([self.joulery, *map(str, words)], env={**self.environment, **(env or {})},
                              text=not binary, **options)
        if check is not None:
            assert done.returncode == check, f"exit {done.returncode}, stderr:\n{done.stderr}"
        return done

    def start(self, *words, **options):
        options.setdefault("env", self.environment)
        return subprocess.Popen([self.joulery, *map(str, words)], **options)

    def run(self, *words, **options):
        """`joulery run --no-save --quiet WORDS` for tests that are about CMD alone."""
        return self("run", "--no-save", "--quiet", *words, **options)

    def report(self, file, *words):
        return json.loads(self("report", file, "--json", *words, check=0).stdout)


@pytest.fixture
def run(joulery, tmp_path):
    return Runner(joulery, tmp_path)


@pytest.fixture(scope="module")
def module_run(joulery, tmp_path_factory):
    return Runner(joulery, tmp_path_factory.mktemp("home"))


@pytest.fixture
def two_zones(tmp_path):
    """A machine with a package of 20 W and its DRAM of 3 W, counting in real time."""
    root = tmp_path / "machine"
    with ScriptedTree(str(root), TWO_ZONES):
        yield str(root)


@pytest.fixture(scope="session")
def recording(joulery, tmp_path_factory):
    """One recording of about 1.5 s on the scripted machine whose DRAM cannot be read, with its Runner and its file."""
    home = tmp_path_factory.mktemp("recording")
    runner = Runner(joulery, home)
    steps = [(0.0, "intel-rapl:0:0", "rubbish")]
    with ScriptedTree(str(home / "machine"), TWO_ZONES, steps):
        done = runner("run", "--sysroot", home / "machine", "-o", home / "run.joulery", "--work", "640", "--unit", "sample",
                      "--", "sh", "-c", "sleep 1.5; exit 3")
    assert done.returncode == 3, done.stderr
    return runner, home / "run.joulery"


def json_in(text):
    """The JSON object that closes `text` (a summary may follow what CMD wrote to stderr)."""
    begin = 0 if text.startswith("{") else text.index("\n{") + 1
    return json.loads(text[begin:])


def one_line(text, *names):
    """Asserts that `text` is one clear line that holds each of `names`, and no traceback."""
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, f"want one line, got {len(lines)}:\n{text}"
    assert "terminate called" not in text and "Traceback" not in text and "what()" not in text
    for name in names:
        assert str(name).lower() in lines[0].lower(), f"{name!r} is not named in: {lines[0]}"
    return lines[0]


def microjoules(joules):
    return round(joules * 1e6)


def row(report, name):
    """The component of that name: "package-0" is the processor's, "dram" its memory."""
    path = {"package-0": "node/cpu/package-0", "dram": "node/dram/package-0"}.get(name, name)
    rows = [c for c in report["components"] if c["path"] == path]
    assert len(rows) == 1, f"{name}: {[c['path'] for c in report['components']]}"
    return rows[0]


@pytest.fixture(scope="session")
def with_rapl(tmp_path_factory):
    """The words that put a command under the fake RAPL; skips where this machine does not allow it."""
    fuse = built("standins/rapl_fuse")
    if fuse is None:
        pytest.fail("rapl_fuse is not built")
    words = ["env", f"RAPL_FUSE={fuse}", str(STANDINS / "with_rapl")]
    probe = subprocess.run([*words, "--", "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"no fake RAPL here: {probe.stderr.strip()}")
    return words


@pytest.fixture(scope="session")
def staircase_load():
    path = built("standins/staircase_load")
    if path is None:
        pytest.fail("staircase_load is not built")
    return str(path)


def as_the_unit_starts_it(uid):
    """setpriv with the capabilities that the unit for systemd gives, and no others, to a user that is not root."""
    unit = ROOT / "integrations/systemd/joulery-agent.service"
    line = next(line for line in unit.read_text().splitlines() if line.startswith("AmbientCapabilities="))
    given = ",".join("+" + name.removeprefix("CAP_").lower() for name in line.partition("=")[2].split())
    words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", f"--inh-caps=-all,{given}", f"--ambient-caps=-all,{given}",
             f"--bounding-set=-all,{given}", "--no-new-privs"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("skipped: these capabilities cannot be given here")
    return words
