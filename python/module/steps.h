// The three types behind joulery.step() and joulery.steps().
//
//   Step           a name and a size: entering begins a step, leaving ends it; holds nothing else, so one object
//                  serves nested steps and all threads
//   Steps          an iterable and how large its items are: iterates anew as often as the iterable does
//   StepsIterator  one pass: at most one step is open, and it ends with the turn of the loop, with an exception,
//                  and with the iterator itself where the loop was left early
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace joulery {

PyObject* make_step_type();
PyObject* make_steps_type();
PyObject* make_steps_iterator_type();

PyObject* new_step(PyObject* type, std::uint32_t name, double samples);
PyObject* new_steps(PyObject* type, PyObject* iterator_type, PyObject* iterable, PyObject* samples, std::uint32_t name);

// float(value), or NaN where that raises: such a mark is dropped and counted, the program goes on.
double number_or_nan(PyObject* value);

}  // namespace joulery
