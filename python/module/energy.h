// What was burnt so far, for Python: energy_so_far() under `joulery run`, session_energy(handle) of a session of this process.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "joulery/joulery.h"

namespace joulery {

// (begin_ns, until_ns, microjoules, low, high, watts, holes, quality, partial, missing, now_ns); None in place of what is not known. A new
// reference, or null with an exception.
PyObject* energy_tuple(const joulery_energy& told);

extern PyMethodDef energy_functions[];

}  // namespace joulery
