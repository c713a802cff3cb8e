"""scripts/test on a tree of its own: what it counts, and that a crash, a hang or an empty program is never a pass."""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test"

# A stand-in for a GoogleTest program: writes the report that it is asked for (--gtest_output=xml:PATH), then ends.
PROGRAM = """#!/bin/bash
cat >"${{1#--gtest_output=xml:}}" <<'END'
<testsuites><testsuite name="Suite">{cases}</testsuite></testsuites>
END
{end}
"""
PASSED = '<testcase name="works" classname="Suite" status="run" result="completed"/>'
FAILED = '<testcase name="breaks" classname="Suite" status="run"><failure message="1 is not 2">1 is not 2</failure></testcase>'
SKIPPED = '<testcase name="waits" classname="Suite" status="run"><skipped message="skipped: no meter"/></testcase>'
DISABLED = '<testcase name="off" classname="Suite" status="notrun"/>'


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts" / "test")
    return tmp_path


def add_program(tree, name, text):
    path = tree / "build" / "release" / "tests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def add_file(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(tree, *arguments):
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    result = subprocess.run([tree / "scripts" / "test", *arguments], capture_output=True, text=True, check=False, env=environment)
    return result.returncode, result.stdout, result.stdout.splitlines()[-1]


def test_cases_are_summed_over_programs(tree):
    add_program(tree, "test_one", PROGRAM.format(cases=PASSED * 2, end="exit 0"))
    add_program(tree, "test_two", PROGRAM.format(cases=PASSED + DISABLED, end="exit 0"))
    assert run(tree)[::2] == (0, "3 passed, 0 failed")


def test_a_failure_is_told_with_its_text_and_counted(tree):
    add_program(tree, "test_one", PROGRAM.format(cases=PASSED + FAILED, end="exit 1"))
    code, output, last = run(tree)
    assert (code, last) == (1, "1 passed, 1 failed")
    assert "FAILED one: Suite.breaks\n1 is not 2" in output


def test_skips_are_told_with_their_reason(tree):
    add_program(tree, "test_one", PROGRAM.format(cases=PASSED + SKIPPED, end="exit 0"))
    code, output, last = run(tree)
    assert (code, last) == (0, "1 passed, 0 failed, 1 skipped")
    assert "skipped: no meter" in output


def test_a_crash_is_a_failure_even_after_a_report(tree):
    add_program(tree, "test_one", PROGRAM.format(cases=PASSED, end="kill -SEGV $$"))
    code, output, last = run(tree)
    assert (code, last) == (1, "1 passed, 1 failed")
    assert "killed by SIGSEGV" in output


def test_an_old_report_does_not_speak_for_a_program_that_writes_none(tree):
    add_program(tree, "test_one", PROGRAM.format(cases=PASSED, end="exit 0"))
    run(tree)
    add_program(tree, "test_one", "#!/bin/bash\nexit 0\n")
    assert run(tree)[::2] == (1, "0 passed, 1 failed")


def test_a_program_without_tests_is_a_failure(tree):
    add_program(tree, "test_one", PROGRAM.format(cases="", end="exit 0"))
    code, output, last = run(tree)
    assert (code, last) == (1, "0 passed, 1 failed")
    assert "no test in it" in output


def test_no_program_at_all_is_a_failure(tree):
    code, output, last = run(tree)
    assert (code, last) == (1, "0 passed, 1 failed")
    assert "no test found" in output


def test_a_hang_is_killed_and_counted(tree):
    add_file(tree, "tests/slow_test.sh", "# scripts/test: timeout=1\nsleep 60\n")
    code, output, last = run(tree)
    assert (code, last) == (1, "0 passed, 1 failed")
    assert "ran longer than 1 s" in output


def test_shell_tests_pass_fail_and_skip_by_their_exit_code(tree):
    add_file(tree, "tests/good_test.sh", "exit 0\n")
    add_file(tree, "tests/e2e/bad_test.sh", "echo the reason; exit 3\n")
    add_file(tree, "tests/e2e/absent_test.sh", "echo 'skipped: no fuse'; exit 77\n")
    code, output, last = run(tree)
    assert (code, last) == (1, "1 passed, 1 failed, 1 skipped")
    assert "exit code 3\nthe reason" in output


def test_python_files_run_in_processes_of_their_own(tree):
    add_file(tree, "tests/e2e/test_good.py", "def test_a(): pass\ndef test_b(): pass\n")
    add_file(tree, "python/tests/test_bad.py", "import os\ndef test_a(): os.abort()\n")
    code, output, last = run(tree)
    assert (code, last) == (1, "2 passed, 1 failed")
    assert "killed by SIGABRT" in output


def test_words_choose_by_name(tree):
    add_program(tree, "test_core", PROGRAM.format(cases=PASSED, end="exit 0"))
    add_program(tree, "test_judge", PROGRAM.format(cases=FAILED, end="exit 1"))
    assert run(tree, "core")[::2] == (0, "1 passed, 0 failed")


def test_a_step_that_does_not_build_closes_with_a_failure(tree):
    add_file(tree, "scripts/setup", "#!/bin/bash\nexit 7\n")
    (tree / "scripts" / "setup").chmod(0o755)
    code, output, last = run(tree, "--prepare")
    assert (code, last) == (1, "0 passed, 1 failed")
    assert "scripts/setup build test" in output
