// begin_session(interval_ns, name, tells) -> handle, session_energy(handle) -> tuple (see energy.h), end_session(handle) -> JSON
// (joulery.report/1). All let go of the GIL while they read meters; in between, threads that know nothing of Python do the reading.
#include "session.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "app/session.h"
#include "config/load.h"
#include "energy.h"
#include "factors/carbon.h"
#include "factors/factor_config.h"
#include "factors/places.h"
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

PyObject* text_of(Session& session, Result<Report> (Session::*judge)()) {
  const auto text = without_gil([&]() -> Result<std::string> {
    const Result<Report> report = (session.*judge)();
    if (!report) return std::unexpected(report.error());
    return report_json(*report, 0);
  });
  if (!text) return raise(text.error());
  if (!*text) return raise(text->error());
  return PyUnicode_FromStringAndSize(text->value().data(), static_cast<Py_ssize_t>(text->value().size()));
}

// A session of this process, or null with an exception.
Session* own_session(PyObject* handle) {
  auto* session = static_cast<Session*>(PyCapsule_GetPointer(handle, handle_name));
  if (session == nullptr || session->belongs_here()) return session;
  raise({ErrorCode::unsupported, "this measurement was begun in another process", "", "begin one after the fork"});
  return nullptr;
}

PyObject* session_report(PyObject*, PyObject* handle) {
  Session* session = own_session(handle);
  return session == nullptr ? nullptr : text_of(*session, &Session::report_so_far);
}

PyObject* end_session(PyObject*, PyObject* handle) {
  Session* session = own_session(handle);
  return session == nullptr ? nullptr : text_of(*session, &Session::stop);
}

// (grams per kWh, PUE, name, code, code of three letters, source, note)
PyObject* carbon_factor(PyObject*, PyObject* arguments) {
  const char* text = nullptr;
  if (!PyArg_ParseTuple(arguments, "z", &text)) return nullptr;
  const auto chosen = without_gil([&]() -> Result<std::pair<CarbonFactor, std::string>> {
    const auto settings = load_settings(ConfigSources::of_this_process(), {});
    if (!settings) return std::unexpected(settings.error());
    auto config = factor_config(*settings);
    if (!config) return std::unexpected(config.error());
    if (text != nullptr) config->carbon.place = text;
    auto factor = choose_carbon_factor(config->carbon);
    if (!factor) return std::unexpected(factor.error());
    const auto place = find_place(factor->code.empty() ? "WORLD" : factor->code);
    return std::pair(*std::move(factor), place ? std::string(place->place->alpha3) : std::string());
  });
  if (!chosen) return raise(chosen.error());
  if (!*chosen) return raise(chosen->error());
  const auto& [factor, alpha3] = chosen->value();
  return Py_BuildValue("ddsssss", to_grams_per_kilowatt_hour(factor.intensity), factor.pue.value, factor.place.c_str(), factor.code.c_str(),
                       alpha3.c_str(), factor.source.c_str(), factor.note.c_str());
}

}  // namespace

PyMethodDef session_functions[] = {
    {"begin_session", begin_session, METH_VARARGS, "begin_session(interval_ns, name, tells=False) -> handle"},
    {"session_energy", session_energy, METH_O, "session_energy(handle) -> tuple, None in a forked child"},
    {"session_report", session_report, METH_O, "session_report(handle) -> JSON of the time so far"},
    {"carbon_factor", carbon_factor, METH_VARARGS, "carbon_factor(place or None) -> tuple, from the shipped table"},
    {"end_session", end_session, METH_O, "end_session(handle) -> JSON, schema joulery.report/1"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace joulery
