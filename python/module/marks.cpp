#include "marks.h"

#include <initializer_list>

#include "arguments.h"
#include "joulery/joulery.h"
#include "steps.h"

namespace joulery {
namespace {

MarksState& state_of(PyObject* module) { return *static_cast<MarksState*>(PyModule_GetState(module)); }

int check_name(PyObject* name, const char* what) {
  if (PyUnicode_Check(name)) return 0;
  PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, static_cast<void*>(Py_TYPE(name)));
  return -1;
}

int check_number(PyObject* value, const char* what) {
  if (PyNumber_Check(value)) return 0;
  PyErr_Format(PyExc_TypeError, "%s must be a number, not %R", what, static_cast<void*>(Py_TYPE(value)));
  return -1;
}

// The name's id, 0 where there is none; -1 with an exception only where memory ran out.
long id_of(MarksState& state, PyObject* name) {
  if (PyObject* known = PyDict_GetItemWithError(state.ids, name)) return PyLong_AsLong(known);
  if (PyErr_Occurred()) return -1;
  PyObject* bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
  if (bytes == nullptr) return -1;
  const long id = static_cast<long>(joulery_name(PyBytes_AsString(bytes)));
  Py_DECREF(bytes);
  if (id == 0) return 0;
  PyObject* number = PyLong_FromLong(id);
  if (number == nullptr) return -1;
  const int kept = PyDict_SetItem(state.ids, name, number);
  Py_DECREF(number);
  return kept == 0 ? id : -1;
}

// mark(), kpi() and work(): one name, one number.
PyObject* place(MarksState& state, std::uint32_t kind, PyObject* name, PyObject* value) {
  if (check_name(name, "the name") != 0 || check_number(value, "the value") != 0) return nullptr;
  if (!joulery_active()) Py_RETURN_NONE;
  const long id = id_of(state, name);
  if (id < 0) return nullptr;
  joulery_place(kind, static_cast<std::uint32_t>(id), number_or_nan(value));
  Py_RETURN_NONE;
}

PyObject* mark(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  MarksState& state = state_of(module);
  PyObject *name = nullptr, *value = state.zero;
  const Parameter parameters[] = {{state.name_word, &name}, {state.value_word, &value}};
  return bind("mark", arguments, count, keywords, parameters, 2, 1) == 0 ? place(state, JOULERY_POINT, name, value) : nullptr;
}

PyObject* kpi(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  MarksState& state = state_of(module);
  PyObject *name = nullptr, *value = nullptr;
  const Parameter parameters[] = {{state.name_word, &name}, {state.value_word, &value}};
  return bind("kpi", arguments, count, keywords, parameters, 2, 2) == 0 ? place(state, JOULERY_KPI, name, value) : nullptr;
}

PyObject* work(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  MarksState& state = state_of(module);
  PyObject *value = nullptr, *unit = state.sample_word;
  const Parameter parameters[] = {{state.value_word, &value}, {state.unit_word, &unit}};
  return bind("work", arguments, count, keywords, parameters, 2, 1) == 0 ? place(state, JOULERY_WORK, unit, value) : nullptr;
}

PyObject* keep_step(MarksState& state, PyObject* samples, PyObject* name) {
  const long id = id_of(state, name);
  PyObject* made = id < 0 ? nullptr : new_step(state.step_type, static_cast<std::uint32_t>(id), number_or_nan(samples));
  if (made == nullptr) return nullptr;
  Py_INCREF(samples);
  Py_INCREF(name);
  Py_INCREF(made);
  Py_XDECREF(state.last_samples);
  Py_XDECREF(state.last_name);
  Py_XDECREF(state.last_step);
  state.last_samples = samples;
  state.last_name = name;
  state.last_step = made;
  return made;
}

// A Step holds no more than its name and size, so the same one may be entered many times, also at once:
// the last one is kept for the next call with the very same arguments.
PyObject* step(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  MarksState& state = state_of(module);
  PyObject *samples = state.zero, *name = state.step_word;
  const Parameter parameters[] = {{state.samples_word, &samples}, {state.name_word, &name}};
  if (bind("step", arguments, count, keywords, parameters, 2, 0) != 0) return nullptr;
  if (samples == state.last_samples && name == state.last_name) {
    Py_INCREF(state.last_step);
    return state.last_step;
  }
  if (check_name(name, "name") != 0 || check_number(samples, "samples") != 0) return nullptr;
  // A number that can change in place (an array, a tensor) must be read anew each time.
  if (PyLong_CheckExact(samples) || PyFloat_CheckExact(samples)) return keep_step(state, samples, name);
  const long id = id_of(state, name);
  return id < 0 ? nullptr : new_step(state.step_type, static_cast<std::uint32_t>(id), joulery_active() ? number_or_nan(samples) : 0);
}

PyObject* steps(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  MarksState& state = state_of(module);
  PyObject *iterable = nullptr, *samples = state.zero, *name = state.step_word;
  const Parameter parameters[] = {{state.iterable_word, &iterable}, {state.samples_word, &samples}, {state.name_word, &name}};
  if (bind("steps", arguments, count, keywords, parameters, 3, 1) != 0 || check_name(name, "name") != 0) return nullptr;
  if (!PyCallable_Check(samples) && check_number(samples, "samples") != 0) return nullptr;
  const long id = id_of(state, name);
  return id < 0 ? nullptr : new_steps(state.steps_type, state.steps_iterator_type, iterable, samples, static_cast<std::uint32_t>(id));
}

PyObject* active(PyObject*, PyObject*) { return PyBool_FromLong(joulery_active()); }

PyObject* lost(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(joulery_lost()); }

constexpr const char* step_text = "step(samples=0, name='step')\n--\n\nA step of `samples` units of work, for a with statement.";
constexpr const char* steps_text =
    "steps(iterable, samples=0, name='step')\n--\n\nIterates over `iterable`; each turn of the loop is a step.\n\n"
    "The step begins when the item is there and ends when the next is asked for, so that waiting for input lies\n"
    "between the steps. `samples` is a number, or a function of the item that gives one.";
constexpr const char* mark_text = "mark(name, value=0)\n--\n\nA named moment, for example mark('epoch', 3).";
constexpr const char* kpi_text = "kpi(name, value)\n--\n\nA figure that tells success, for example kpi('accuracy', 0.93).";
constexpr const char* work_text = "work(value, unit='sample')\n--\n\n`value` units of work were done since the last call.";
constexpr const char* active_text = "active()\n--\n\nTrue where marks are taken: the program runs under `joulery run`.";
constexpr const char* lost_text = "lost()\n--\n\nHow many marks of this process were dropped so far.";

}  // namespace

PyMethodDef mark_functions[] = {{"step", as_method<FastKeywordFunction>(step), fast_call_with_keywords, step_text},
                                {"steps", as_method<FastKeywordFunction>(steps), fast_call_with_keywords, steps_text},
                                {"mark", as_method<FastKeywordFunction>(mark), fast_call_with_keywords, mark_text},
                                {"kpi", as_method<FastKeywordFunction>(kpi), fast_call_with_keywords, kpi_text},
                                {"work", as_method<FastKeywordFunction>(work), fast_call_with_keywords, work_text},
                                {"active", active, METH_NOARGS, active_text},
                                {"lost", lost, METH_NOARGS, lost_text},
                                {nullptr, nullptr, 0, nullptr}};

int make_marks(PyObject* module, MarksState& state) {
  const struct {
    PyObject** into;
    const char* text;
  } words[] = {{&state.samples_word, "samples"},   {&state.name_word, "name"},   {&state.unit_word, "unit"},
               {&state.iterable_word, "iterable"}, {&state.value_word, "value"}, {&state.step_word, JOULERY_STEP_NAME},
               {&state.sample_word, "sample"}};
  for (const auto& word : words)
    if ((*word.into = PyUnicode_InternFromString(word.text)) == nullptr) return -1;
  if ((state.ids = PyDict_New()) == nullptr || (state.zero = PyLong_FromLong(0)) == nullptr) return -1;
  if ((state.step_type = make_step_type()) == nullptr || (state.steps_type = make_steps_type()) == nullptr) return -1;
  if ((state.steps_iterator_type = make_steps_iterator_type()) == nullptr) return -1;
  return PyObject_SetAttrString(module, "Step", state.step_type) != 0 || PyObject_SetAttrString(module, "Steps", state.steps_type) != 0 ? -1
                                                                                                                                        : 0;
}

int visit_marks(MarksState& state, visitproc visit, void* arg) {
  for (PyObject* held : {state.ids, state.step_type, state.steps_type, state.steps_iterator_type, state.last_step, state.last_samples})
    Py_VISIT(held);
  return 0;
}

void clear_marks(MarksState& state) {
  for (PyObject** held : {&state.ids, &state.step_type, &state.steps_type, &state.steps_iterator_type, &state.samples_word,
                          &state.name_word, &state.unit_word, &state.iterable_word, &state.value_word, &state.step_word, &state.sample_word,
                          &state.zero, &state.last_step, &state.last_samples, &state.last_name})
    Py_CLEAR(*held);
}

}  // namespace joulery
