#include "steps.h"

#include <cmath>

#include "arguments.h"
#include "joulery/joulery.h"

namespace joulery {
namespace {

struct Step {
  PyObject ob_base;
  std::uint32_t name;
  double samples;
};

struct Steps {
  PyObject ob_base;
  PyObject *iterable, *samples, *iterator_type;
  std::uint32_t name;
};

struct StepsIterator {
  PyObject ob_base;
  PyObject *source, *samples;  // an iterator; a number or a function of the item
  double size;                 // where samples is a number
  std::uint32_t name;
  bool sized, open;
};

template <class T>
T& as(PyObject* object) {
  return *reinterpret_cast<T*>(object);
}

// A heap type's instances hold a reference to their type.
void release(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

void release_collected(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

template <class T>
T* make_collected(PyObject* type) {
  return PyObject_GC_New(T, reinterpret_cast<PyTypeObject*>(type));
}

// ---- Step ----

PyObject* enter_step(PyObject* self, PyObject*) {
  joulery_step_begin_named(as<Step>(self).name, as<Step>(self).samples);
  Py_INCREF(self);
  return self;
}

PyObject* leave_step(PyObject* self, PyObject* const*, Py_ssize_t) {
  joulery_step_end_named(as<Step>(self).name);
  Py_RETURN_NONE;  // exceptions go on
}

// ---- Steps ----

int visit_steps(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as<Steps>(self).iterable);
  Py_VISIT(as<Steps>(self).samples);
  Py_VISIT(as<Steps>(self).iterator_type);
  return 0;
}

int clear_steps(PyObject* self) {
  Py_CLEAR(as<Steps>(self).iterable);
  Py_CLEAR(as<Steps>(self).samples);
  Py_CLEAR(as<Steps>(self).iterator_type);
  return 0;
}

void delete_steps(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_steps(self);
  release_collected(self);
}

Py_ssize_t length_of_steps(PyObject* self) { return PyObject_Size(as<Steps>(self).iterable); }

PyObject* iterate_steps(PyObject* self) {
  Steps& steps = as<Steps>(self);
  PyObject* source = PyObject_GetIter(steps.iterable);
  if (source == nullptr) return nullptr;
  StepsIterator* pass = make_collected<StepsIterator>(steps.iterator_type);
  if (pass == nullptr) {
    Py_DECREF(source);
    return nullptr;
  }
  pass->source = source;
  pass->samples = steps.samples;
  Py_INCREF(pass->samples);
  pass->name = steps.name;
  pass->sized = !PyCallable_Check(steps.samples);
  pass->size = pass->sized ? number_or_nan(steps.samples) : 0;
  pass->open = false;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(pass));
  return reinterpret_cast<PyObject*>(pass);
}

// ---- StepsIterator ----

void end_open_step(StepsIterator& pass) {
  if (pass.open) joulery_step_end_named(pass.name);
  pass.open = false;
}

// The item's size by the caller's function; false with an exception where that raises.
bool size_of_item(StepsIterator& pass, PyObject* item, double& size) {
  PyObject* given = PyObject_CallFunctionObjArgs(pass.samples, item, nullptr);
  if (given == nullptr) return false;
  size = number_or_nan(given);
  Py_DECREF(given);
  return true;
}

PyObject* next_step(PyObject* self) {
  StepsIterator& pass = as<StepsIterator>(self);
  end_open_step(pass);
  if (pass.source == nullptr) return nullptr;
  PyObject* item = PyIter_Next(pass.source);
  if (item == nullptr) return nullptr;
  double size = pass.size;
  if (!pass.sized && joulery_active() && !size_of_item(pass, item, size)) {
    Py_DECREF(item);
    return nullptr;
  }
  joulery_step_begin_named(pass.name, size);
  pass.open = true;
  return item;
}

int visit_pass(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as<StepsIterator>(self).source);
  Py_VISIT(as<StepsIterator>(self).samples);
  return 0;
}

int clear_pass(PyObject* self) {
  Py_CLEAR(as<StepsIterator>(self).source);
  Py_CLEAR(as<StepsIterator>(self).samples);
  return 0;
}

void delete_pass(PyObject* self) {
  PyObject_GC_UnTrack(self);
  end_open_step(as<StepsIterator>(self));
  clear_pass(self);
  release_collected(self);
}

template <class Function>
void* slot(Function function) {
  return reinterpret_cast<void*>(function);
}

PyMethodDef step_methods[] = {{"__enter__", enter_step, METH_NOARGS, nullptr},
                              {"__exit__", as_method<FastFunction>(leave_step), fast_call, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

}  // namespace

double number_or_nan(PyObject* value) {
  const double number = PyFloat_AsDouble(value);
  if (number != -1.0 || !PyErr_Occurred()) return number;
  PyErr_Clear();
  return NAN;
}

PyObject* new_step(PyObject* type, std::uint32_t name, double samples) {
  Step* made = PyObject_New(Step, reinterpret_cast<PyTypeObject*>(type));
  if (made == nullptr) return nullptr;
  made->name = name;
  made->samples = samples;
  return reinterpret_cast<PyObject*>(made);
}

PyObject* new_steps(PyObject* type, PyObject* iterator_type, PyObject* iterable, PyObject* samples, std::uint32_t name) {
  Steps* made = make_collected<Steps>(type);
  if (made == nullptr) return nullptr;
  made->iterable = iterable;
  made->samples = samples;
  made->iterator_type = iterator_type;
  made->name = name;
  Py_INCREF(iterable);
  Py_INCREF(samples);
  Py_INCREF(iterator_type);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(made));
  return reinterpret_cast<PyObject*>(made);
}

PyObject* make_step_type() {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(release)}, {Py_tp_methods, step_methods}, {0, nullptr}};
  PyType_Spec spec = {"joulery.Step", sizeof(Step), 0, Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}

PyObject* make_steps_type() {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(delete_steps)}, {Py_tp_traverse, slot(visit_steps)},   {Py_tp_clear, slot(clear_steps)},
                         {Py_tp_iter, slot(iterate_steps)},   {Py_sq_length, slot(length_of_steps)}, {0, nullptr}};
  PyType_Spec spec = {"joulery.Steps", sizeof(Steps), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

PyObject* make_steps_iterator_type() {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(delete_pass)},    {Py_tp_traverse, slot(visit_pass)}, {Py_tp_clear, slot(clear_pass)},
                         {Py_tp_iter, slot(PyObject_SelfIter)}, {Py_tp_iternext, slot(next_step)},  {0, nullptr}};
  PyType_Spec spec = {"joulery.StepsIterator", sizeof(StepsIterator), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace joulery
