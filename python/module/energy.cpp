#include "energy.h"

#include <time.h>

#include <cstdint>
#include <cstring>

namespace joulery {
namespace {

constexpr const char* qualities[] = {"measured", "integrated", "derived", "estimated", "missing"};

long long monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<long long>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

PyObject* whole_or_none(bool known, std::int64_t value) {
  if (!known) Py_RETURN_NONE;
  return PyLong_FromLongLong(value);
}

PyObject* watts_or_none(double watts) {
  if (!(watts >= 0)) Py_RETURN_NONE;
  return PyFloat_FromDouble(watts);
}

PyObject* energy_so_far(PyObject*, PyObject*) {
  joulery_energy told;
  if (joulery_energy_so_far(&told) == 0) Py_RETURN_NONE;
  return energy_tuple(told);
}

PyObject* energy_clock(PyObject*, PyObject*) { return PyLong_FromLongLong(monotonic_ns()); }

}  // namespace

PyObject* energy_tuple(const joulery_energy& told) {
  const bool known = (told.flags & JOULERY_ENERGY_KNOWN) != 0;
  const char* quality = qualities[known && told.quality < 4 ? told.quality : 4];
  PyObject* missing = PyUnicode_DecodeUTF8(told.missing, static_cast<Py_ssize_t>(strnlen(told.missing, sizeof told.missing)), "replace");
  if (missing == nullptr) return nullptr;
  return Py_BuildValue("LLNNNNKsNNL", static_cast<long long>(told.begin_ns), static_cast<long long>(told.until_ns),
                       whole_or_none(known, told.microjoules), whole_or_none(known, told.low), whole_or_none(known, told.high),
                       watts_or_none(told.watts), static_cast<unsigned long long>(told.holes), quality,
                       PyBool_FromLong((told.flags & JOULERY_ENERGY_PARTIAL) != 0), missing, monotonic_ns());
}

PyMethodDef energy_functions[] = {
    {"energy_so_far", energy_so_far, METH_NOARGS, "energy_so_far() -> tuple as `joulery run` tells it, or None where nobody tells"},
    {"energy_clock", energy_clock, METH_NOARGS, "energy_clock() -> now by the clock of the others, nanoseconds"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace joulery
