"""scripts/setup: what it says when it cannot do its work. (That it installs is shown by running it on a bare machine.)"""
import os
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "setup"
TOOLS = ["bash", "dirname", "mapfile", "sort", "grep", "cat", "env"]


def run(tmp_path, *groups, **programs):
    """Runs it where PATH holds only a few tools and the given stand-ins (name: text of a shell script)."""
    for tool in TOOLS:
        if os.path.exists(f"/usr/bin/{tool}"):
            (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    for name, text in programs.items():
        path = tmp_path / name.replace("_", "-")
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    return subprocess.run(["/bin/bash", SCRIPT, *groups], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)


def test_without_a_group_it_lists_them(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 1
    assert "usage: scripts/setup GROUP..." in result.stderr and "fuzz" in result.stderr


def test_an_unknown_group_is_refused(tmp_path):
    result = run(tmp_path, "builds")
    assert result.returncode == 1
    assert "no group named 'builds'" in result.stderr


def test_another_system_is_told_what_to_install(tmp_path):
    result = run(tmp_path, "build")
    assert result.returncode == 1
    assert "not Debian" in result.stderr and "libsqlite3-dev" in result.stderr


def test_a_user_without_sudo_is_told_the_command(tmp_path):
    result = run(tmp_path, "fuzz", dpkg_query="exit 1", id="echo 1000", sleep="")
    assert result.returncode == 1
    assert "needs root and there is no sudo" in result.stderr
    assert "apt-get" in result.stderr


def test_a_user_with_sudo_goes_through_it(tmp_path):
    log = tmp_path / "log"
    result = run(tmp_path, "fuzz", dpkg_query="exit 1", id="echo 1000", sudo=f'echo "$@" >>{log}')
    assert result.returncode == 0
    assert "install -y --no-install-recommends" in log.read_text() and "clang-19" in log.read_text()


def test_nothing_is_installed_where_all_is_there(tmp_path):
    result = run(tmp_path, "fuzz", dpkg_query="for p; do [[ $p == -* ]] || echo installed; done", apt_get="echo 'must not be called' >&2; exit 1")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_mirror_that_falters_is_asked_again(tmp_path):
    count = tmp_path / "count"
    faltering = f'echo x >>{count}; [ "$(grep -c x {count})" -ge 3 ]'
    result = run(tmp_path, "fuzz", dpkg_query="exit 1", id="echo 0", apt_get=faltering, sleep="")
    assert result.returncode == 0
    assert "try 2 of 3 failed" in result.stderr
