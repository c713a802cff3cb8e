// Arguments of functions that are called in the innermost loops, without tuples and dictionaries.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

namespace joulery {

// METH_FASTCALL entered the stable ABI with CPython 3.10; its number and meaning are the same in 3.9.
inline constexpr int fast_call = 0x0080;
inline constexpr int fast_call_with_keywords = 0x0080 | METH_KEYWORDS;
using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
using FastKeywordFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

template <class Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// One parameter: its interned name, and where its argument goes (keeps its default where none is given).
struct Parameter {
  PyObject* word;
  PyObject** into;
};

// Binds as Python does; the first `required` must be given. 0, or -1 with TypeError. The references are borrowed.
int bind(const char* function, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, const Parameter* parameters,
         Py_ssize_t known, Py_ssize_t required);

}  // namespace joulery
