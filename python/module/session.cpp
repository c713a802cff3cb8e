// begin_session(interval_ns, name, tells) -> handle, session_energy(handle) -> tuple (see energy.h), end_session(handle) -> JSON
// (joulery.report/1). All let go of the GIL while they read meters; in between, threads that know nothing of Python do the reading.
#include "session.h"

#include <exception>
#include <memory>
#include <string>

#include "app/session.h"
#include "energy.h"
#include "publish/json.h"

namespace joulery {
namespace {

constexpr const char* handle_name = "joulery.session";

// A child has a copy of the handle and none of the threads: joining them would wait for ever, so it leaks its copy.
void drop(PyObject* handle) {
  auto* session = static_cast<Session*>(PyCapsule_GetPointer(handle, handle_name));
  if (session == nullptr) return PyErr_Clear();
  if (!session->belongs_here()) return;
  PyThreadState* state = PyEval_SaveThread();
  delete session;
  PyEval_RestoreThread(state);
}

// No exception leaves C++: it becomes one of Python.
template <class Function>
auto without_gil(Function function) -> Result<decltype(function())> {
  PyThreadState* state = PyEval_SaveThread();
  try {
    Result<decltype(function())> value = function();
    PyEval_RestoreThread(state);
    return value;
  } catch (const std::exception& error) {
    PyEval_RestoreThread(state);
    return fail(ErrorCode::internal, error.what());
  }
}

PyObject* raise(const Error& error) {
  PyErr_SetString(error.code == ErrorCode::usage ? PyExc_ValueError : PyExc_RuntimeError, error.line().c_str());
  return nullptr;
}

PyObject* begin_session(PyObject*, PyObject* arguments) {
  long long interval = 0;
  const char* name = nullptr;
  int tells = 0;
  if (!PyArg_ParseTuple(arguments, "Ls|p", &interval, &name, &tells)) return nullptr;
  auto session = without_gil([&] {
    auto started = Session::start(Machine{}, nanoseconds(interval), name);
    if (started && tells != 0) (*started)->tell_so_far();
    return started;
  });
  if (!session) return raise(session.error());
  if (!*session) return raise(session->error());
  PyObject* handle = PyCapsule_New(session->value().get(), handle_name, drop);
  if (handle != nullptr) session->value().release();
  return handle;
}

PyObject* session_energy(PyObject*, PyObject* handle) {
  auto* session = static_cast<Session*>(PyCapsule_GetPointer(handle, handle_name));
  if (session == nullptr) return nullptr;
  if (!session->belongs_here()) Py_RETURN_NONE;
  const auto told = without_gil([&]() -> Result<joulery_energy> { return session->so_far(); });
  if (!told) return raise(told.error());
  return energy_tuple(told->value());
}

PyObject* end_session(PyObject*, PyObject* handle) {
  auto* session = static_cast<Session*>(PyCapsule_GetPointer(handle, handle_name));
  if (session == nullptr) return nullptr;
  if (!session->belongs_here())
    return raise({ErrorCode::unsupported, "this measurement was begun in another process", "", "begin one after the fork"});
  const auto text = without_gil([&]() -> Result<std::string> {
    const Result<Report> report = session->stop();
    if (!report) return std::unexpected(report.error());
    return report_json(*report, 0);
  });
  if (!text) return raise(text.error());
  if (!*text) return raise(text->error());
  return PyUnicode_FromStringAndSize(text->value().data(), static_cast<Py_ssize_t>(text->value().size()));
}

}  // namespace

PyMethodDef session_functions[] = {{"begin_session", begin_session, METH_VARARGS, "begin_session(interval_ns, name, tells=False) -> handle"},
                                   {"session_energy", session_energy, METH_O, "session_energy(handle) -> tuple, None in a forked child"},
                                   {"end_session", end_session, METH_O, "end_session(handle) -> JSON, schema joulery.report/1"},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace joulery
