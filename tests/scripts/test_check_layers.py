"""scripts/check_layers on small trees: a good one passes, and each rule catches its offence."""
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers"

GOOD = {
    "src/core/CMakeLists.txt": "joulery_layer(core SOURCES\n  a.cpp)\n",
    "src/core/a.h": "#pragma once\n#include <vector>\n",
    "src/core/a.cpp": '#include "core/a.h"\n',
    "src/sense/CMakeLists.txt": "joulery_layer(sense SOURCES b.cpp)\n",
    "src/sense/b.cpp": '#include "core/a.h"\n#include "third_party/x.h"\n',
    "src/watch/CMakeLists.txt": "joulery_layer(watch SOURCES)\n",
    "src/watch/c.h": '#include "core/a.h"\n',
    "src/meter/CMakeLists.txt": "joulery_layer(meter SOURCES)\n",
    "src/meter/d.h": '#include "sense/b.h"\n#include "watch/c.h"\n',
}

# What is added to the good tree (or replaces a file of it), and what the offence must say.
BAD = [
    ({"src/core/a.h": '#include "app/run.h"\n'}, "src/core/a.h:1: core must not see app"),
    ({"src/core/a.h": "#pragma once\n\n  #  include <judge/report.h>\n"}, "src/core/a.h:3: core must not see judge"),
    ({"src/watch/c.h": '#include "sense/b.h"\n'}, "src/watch/c.h:1: watch must not see sense"),
    ({"src/sense/b.cpp": '#include "watch/c.h"\n'}, "src/sense/b.cpp:1: sense must not see watch"),
    ({"src/meter/d.h": '#include "../core/a.h"\n'}, "src/meter/d.h:1: includes ../core/a.h"),
    ({"src/watch/c.h": '#include "watch/e.h"\n', "src/watch/e.h": '#include "watch/c.h"\n'}, "watch/c.h > watch/e.h > watch/c.h"),
    ({"src/core/forgotten.cpp": "\n"}, "src/core/forgotten.cpp: not listed"),
    ({"src/core/forgotten.cpp": "\n", "src/core/CMakeLists.txt": "joulery_layer(core SOURCES a.cpp) # forgotten.cpp\n"}, "not listed"),
    ({"src/meter/CMakeLists.txt": "file(GLOB sources *.cpp)\n"}, "src/meter/CMakeLists.txt: finds sources by a pattern"),
    ({"src/core/long.h": "//\n" * 401}, "src/core/long.h: 401 lines"),
    ({"tests/long_test.cpp": "//\n" * 401}, "tests/long_test.cpp: 401 lines"),
    ({"src/cellar/x.h": "\n"}, "src/cellar: no step"),
    ({"src/core/util/x.h": "\n"}, "src/core/util: a folder named 'util'"),
    ({"src/common/x.h": "\n"}, "src/common: a folder named 'common'"),
    ({"python/joulery/misc/x.py": "\n"}, "python/joulery/misc: a folder named 'misc'"),
]


def check(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([SCRIPT, root], capture_output=True, text=True, check=False)


def test_a_good_tree_passes(tmp_path):
    result = check(tmp_path, GOOD)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("change, offence", BAD, ids=[offence for _, offence in BAD])
def test_an_offence_is_named(tmp_path, change, offence):
    result = check(tmp_path, {**GOOD, **change})
    assert result.returncode == 1
    assert offence in result.stdout


def test_a_source_may_be_listed_by_its_path_in_another_folder(tmp_path):
    listing = "add_library(marks SHARED ${PROJECT_SOURCE_DIR}/src/core/shared.cpp)\n"
    assert check(tmp_path, {**GOOD, "src/core/shared.cpp": "\n", "include/CMakeLists.txt": listing}).returncode == 0


def test_exactly_400_lines_are_allowed(tmp_path):
    assert check(tmp_path, {**GOOD, "src/core/long.h": "//\n" * 400}).returncode == 0


def test_an_empty_tree_proves_nothing(tmp_path):
    result = check(tmp_path, {"src/core/CMakeLists.txt": ""})
    assert result.returncode == 1
    assert "no source file" in result.stderr


def test_this_tree_holds():
    result = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
