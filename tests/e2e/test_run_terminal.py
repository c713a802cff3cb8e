"""`joulery run -- CMD` on a terminal, under a real interactive bash with job control."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pytest


class Terminal:
    """An interactive bash on a pseudo-terminal. `expect` waits for a pattern in what comes after the last one."""

    def __init__(self, environment):
        self.seen, self.at = "", 0
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**environment, "PS1": "ready> ", "TERM": "dumb"})
        self.expect("ready> ")

    def send(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, limit_s=60):
        end = time.monotonic() + limit_s
        while True:
            found = re.compile(pattern).search(self.seen, self.at)
            if found:
                self.at = found.end()
                return found
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} did not come; on the terminal: {self.seen[self.at:]!r}")
            if select.select([self.master], [], [], 0.2)[0]:
                self.seen += os.read(self.master, 65536).decode(errors="replace")

    def command(self, line):
        self.send(line + "\n")
        self.expect("\n")  # the echo

    def last_code(self):
        self.command("echo code=$?")
        return int(self.expect(r"code=(\d+)").group(1))

    def close(self):
        os.close(self.master)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(run):
    screen = Terminal({**run.environment, "J": f"{run.joulery} run --no-save --quiet --"})
    yield screen
    screen.close()


def test_command_has_the_terminal(terminal):
    terminal.command("$J sh -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty -a >/dev/null && echo on-a-tty'")
    terminal.expect("on-a-tty\r")
    assert terminal.last_code() == 0


def test_command_reads_the_terminal(terminal):
    terminal.command("$J sh -c 'echo star''ted; exec cat'")
    terminal.expect("started")  # what is typed before belongs to bash
    terminal.send("hello\n")
    terminal.expect("hello\r\nhello\r\n")
    terminal.send("\x04")
    terminal.expect("ready> ")
    assert terminal.last_code() == 0


def test_interrupt_key(terminal):
    terminal.command("$J sh -c 'echo star''ted; exec sleep 100'")
    terminal.expect("started")
    terminal.send("\x03")
    terminal.expect("ready> ")
    assert terminal.last_code() == 130


def test_interrupt_key_that_the_command_handles(terminal):
    terminal.command("$J bash -c 'trap \"echo cau\"\"ght; exit 5\" INT; echo star''ted; while :; do sleep 0.05; done'")
    terminal.expect("started")
    terminal.send("\x03")
    terminal.expect("caught")
    terminal.expect("ready> ")
    assert terminal.last_code() == 5


def test_interrupt_key_that_the_command_survives(terminal):
    terminal.command("$J bash -c 'trap \"n=1\" INT; echo star''ted; while [ -z \"$n\" ]; do sleep 0.05; done; echo went-\"\"on; exit 6'")
    terminal.expect("started")
    terminal.send("\x03")
    terminal.expect("went-on")
    assert terminal.last_code() == 6


def test_quit_key(terminal):
    terminal.command("ulimit -c 0")
    terminal.command("$J sh -c 'echo star''ted; exec sleep 100'")
    terminal.expect("started")
    terminal.send("\x1c")
    terminal.expect("ready> ")
    assert terminal.last_code() == 131


def test_suspend_key_and_foreground(terminal, tmp_path):
    file = tmp_path / "pid"
    terminal.command(f"$J sh -c 'echo $$ > {file}; echo star''ted; read line; echo got-$line; exit 7'")
    terminal.expect("started")
    terminal.send("\x1a")
    terminal.expect("Stopped")
    terminal.expect("ready> ")
    assert terminal.last_code() == 148  # 128 + SIGTSTP, as bash says of any stopped job
    with open(f"/proc/{file.read_text().strip()}/stat", encoding="ascii") as stat:
        assert stat.read().rpartition(")")[2].split()[0] == "T"
    terminal.command("jobs")
    terminal.expect(r"\[1\]\+\s+Stopped")
    terminal.command("fg")
    terminal.expect("read line")  # bash names the job that it wakes
    time.sleep(0.2)               # let the job take the terminal before the next key
    terminal.send("again\n")
    terminal.expect("got-again")
    terminal.expect("ready> ")
    assert terminal.last_code() == 7


def test_suspend_twice(terminal):
    terminal.command("$J sh -c 'echo star''ted; read line; exit 8'")
    terminal.expect("started")
    for _ in range(2):
        terminal.send("\x1a")
        terminal.expect("Stopped")
        terminal.expect("ready> ")
        terminal.command("fg")
        terminal.expect("read line")  # bash names the job that it wakes
        time.sleep(0.2)               # let the job take the terminal before the next key
    terminal.send("\n")
    terminal.expect("ready> ")
    assert terminal.last_code() == 8


def test_suspend_and_background(terminal):
    # One process: a shell that is stopped between the vfork and the exec of its `sleep` waits in the kernel, and no parent,
    # bash itself included, is told that it stopped.
    code = "import sys,time;print(\"star\"+\"ted\",flush=True);time.sleep(3);print(\"fin\"+\"ished\");sys.exit(9)"
    terminal.command(f"$J /usr/bin/python3 -c '{code}'")
    terminal.expect("started")
    terminal.send("\x1a")
    terminal.expect("Stopped")
    terminal.expect("ready> ")
    terminal.command("bg")
    terminal.expect("finished")
    terminal.command("wait %1; echo code=$?")
    assert terminal.expect(r"code=(\d+)").group(1) in ("9", "127")  # 127: bash had already told of its end


def test_started_in_the_background(terminal):
    terminal.command("$J sh -c 'sleep 0.2; exit 9' & wait $!; echo code=$?")
    assert terminal.expect(r"code=(\d+)").group(1) == "9"


def test_background_job_that_reads_the_terminal_stops_and_can_be_fetched(terminal):
    terminal.command("$J sh -c 'read line; echo got-$line' &")
    terminal.expect("ready> ")
    for _ in range(100):
        terminal.command("jobs")
        if re.search(r"Stopped|tty input", terminal.expect(r"\[1\]\+?\s+(\w+[^\r]*)").group(1)):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the job does not stop")
    terminal.command("fg")
    terminal.expect("read line")  # bash names the job that it wakes
    time.sleep(0.2)               # let the job take the terminal before the next key
    terminal.send("fetched\n")
    terminal.expect("got-fetched")


def test_pipeline_on_a_terminal(terminal):
    terminal.command("$J sh -c 'echo one; echo two' | $J grep two")
    terminal.expect("two\r")
    assert terminal.last_code() == 0


def test_window_size_reaches_the_command(terminal):
    terminal.command("$J bash -c 'trap \"stty size; exit 0\" WINCH; echo star''ted; while :; do sleep 0.05; done'")
    terminal.expect("started")
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    terminal.expect("33 101")
    assert terminal.last_code() == 0


def test_summary_and_no_escape_codes_where_colour_is_off(terminal, run):
    terminal.command(f"NO_COLOR=1 {run.joulery} run --no-save -- true")
    terminal.expect("ready> ")
    assert "\x1b[3" not in terminal.seen and "\x1b[1m" not in terminal.seen


# Someone who looks on sees what it has burnt so far: 20 W and 3 W for a few seconds.
def test_the_line_that_shows_while_it_runs_tells_joules_and_watts(terminal, run, two_zones):
    terminal.command(f"{run.joulery} run --no-save --estimate none --sysroot {two_zones} -- sleep 4; echo over")
    found = terminal.expect(r"joulery  (3\.\d+) s  ([\d.]+) J  ([\d.]+) W")
    seconds, joules, watts = map(float, found.groups())
    assert 23 * (seconds - 1.2) <= joules <= 23 * (seconds + 0.2)
    assert 22 < watts < 24
    terminal.expect("over")
