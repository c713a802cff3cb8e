// The extension module joulery._joulery: what the package's Python files stand on.
#include "energy.h"
#include "marks.h"
#include "session.h"

namespace joulery {
namespace {

MarksState* state_or_null(PyObject* module) { return static_cast<MarksState*>(PyModule_GetState(module)); }

int make(PyObject* module) {
  if (PyModule_AddFunctions(module, session_functions) != 0 || PyModule_AddFunctions(module, energy_functions) != 0) return -1;
  return make_marks(module, *state_or_null(module));
}

int visit(PyObject* module, visitproc visitor, void* argument) {
  MarksState* state = state_or_null(module);
  return state == nullptr ? 0 : visit_marks(*state, visitor, argument);
}

int clear(PyObject* module) {
  if (MarksState* state = state_or_null(module)) clear_marks(*state);
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(make)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_joulery", nullptr, sizeof(MarksState), mark_functions, slots, visit, clear, [](void* module) {
      clear(static_cast<PyObject*>(module));
    }};

}  // namespace
}  // namespace joulery

PyMODINIT_FUNC PyInit__joulery(void) { return PyModuleDef_Init(&joulery::definition); }
