// Measuring in this process: functions under joulery.measure(), which is written in Python (joulery/_measure.py).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace joulery {

extern PyMethodDef session_functions[];

}  // namespace joulery
