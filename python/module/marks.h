// Steps and marks for Python, against the stable ABI of CPython 3.9 (one binary for 3.9 and later).
//
// Invariant: without a ring nothing is converted and nothing allocated beyond what the call itself needs, and an
// argument of a wrong kind raises TypeError with a ring as without one. Every step that began also ends.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace joulery {

// What the module holds for each interpreter.
struct MarksState {
  PyObject* ids;            // dict: name -> id, at most as many as a ring has names
  PyObject* step_type;      // heap types
  PyObject* steps_type;
  PyObject* steps_iterator_type;
  PyObject* samples_word;   // interned keywords and defaults
  PyObject* name_word;
  PyObject* unit_word;
  PyObject* iterable_word;
  PyObject* value_word;
  PyObject* step_word;
  PyObject* sample_word;
  PyObject* zero;
  PyObject* last_step;      // the Step last made, and the arguments that made it: most loops ask for the same again
  PyObject* last_samples;
  PyObject* last_name;
};

int make_marks(PyObject* module, MarksState& state);                         // 0, or -1 with an exception set
int visit_marks(MarksState& state, visitproc visit, void* argument);
void clear_marks(MarksState& state);

extern PyMethodDef mark_functions[];  // for the module's list of functions, ends with an empty entry

}  // namespace joulery
