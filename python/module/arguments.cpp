#include "arguments.h"

namespace joulery {
namespace {

// Keywords are nearly always interned, as our words are: identity first, then by value.
Py_ssize_t parameter_of(PyObject* word, const Parameter* parameters, Py_ssize_t known) {
  for (Py_ssize_t i = 0; i < known; ++i)
    if (word == parameters[i].word) return i;
  for (Py_ssize_t i = 0; i < known; ++i)
    if (PyUnicode_Compare(word, parameters[i].word) == 0) return i;
  return known;
}

}  // namespace

int bind(const char* function, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, const Parameter* parameters,
         Py_ssize_t known, Py_ssize_t required) {
  if (count > known) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", function, known, count);
    return -1;
  }
  unsigned given = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    *parameters[i].into = arguments[i];
    given |= 1U << i;
  }
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* word = PyTuple_GetItem(keywords, k);
    const Py_ssize_t i = parameter_of(word, parameters, known);
    if (i == known || (given & (1U << i)) != 0) {
      PyErr_Format(PyExc_TypeError,
                   i == known ? "%s() got an unexpected keyword argument '%U'" : "%s() got multiple values for argument '%U'", function,
                   word);
      return -1;
    }
    *parameters[i].into = arguments[count + k];
    given |= 1U << i;
  }
  for (Py_ssize_t i = 0; i < required; ++i)
    if ((given & (1U << i)) == 0) {
      PyErr_Format(PyExc_TypeError, "%s() missing required argument '%U'", function, parameters[i].word);
      return -1;
    }
  return 0;
}

}  // namespace joulery
