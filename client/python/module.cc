// The module plov._plov: what plov/__init__.py, plov/aio.py and users see of libplov.

#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "plov's module counts on the GIL: build it for a Python that has one"
#endif

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "client/python/arguments.h"
#include "client/python/batches.h"
#include "client/python/calls.h"
#include "client/python/errors.h"
#include "client/python/modifications.h"
#include "client/python/operation.h"
#include "client/python/scan.h"
#include "client/python/together.h"
#include "client/python/vectors.h"

namespace py = pybind11;

namespace plov::python {

namespace {

// What is too long, or no number, becomes what Connect refuses.
std::chrono::microseconds Microseconds(double seconds) {
  constexpr double kSecondsMax = 1e9;
  return std::chrono::microseconds(
      seconds >= 0 ? static_cast<int64_t>(std::min(seconds, kSecondsMax) * 1e6 + 0.5) : -1);
}

ReadFrom ReadFromOf(const std::string& word) {
  if (word == "primary") return ReadFrom::kPrimary;
  if (word == "any-replica") return ReadFrom::kAnyReplica;
  throw py::value_error("read_from is \"primary\" or \"any-replica\"");
}

std::unique_ptr<PyClient> Connect(const std::string& uri, double timeout,
                                  size_t location_cache_bytes, uint32_t window, double spin,
                                  const std::string& read_from, double max_age) {
  const ClientOptions options{.timeout = Microseconds(timeout),
                              .location_cache_bytes = location_cache_bytes,
                              .window = window,
                              .spin = Microseconds(spin),
                              .read_from = ReadFromOf(read_from),
                              .max_age = Microseconds(max_age)};
  auto client = [&] {
    const py::gil_scoped_release release;
    return Client::Connect(uri, options);
  }();
  if (!client) Raise(client.error());
  return std::make_unique<PyClient>(std::move(*client), uri, options);
}

void DefineStarted(ClientType* type) {
  using py::arg;
  type->def("start_get", &PyClient::StartGet, arg("key"), arg("done"),
            "Starts a GET; poll() calls done(item, exception).");
  type->def(
      "start_put",
      [](PyClient& self, py::handle key, py::handle value, py::object done, py::handle ttl,
         uint32_t flags, py::handle only_if, py::handle only_if_value) {
        PutOptions options = PutOptionsOf(ttl, flags, only_if);
        const auto expected = Expect(only_if_value, &options);
        self.StartPut(key, value, options, std::move(done));
      },
      arg("key"), arg("value"), arg("done"), py::kw_only(), arg("ttl") = py::none(),
      arg("flags") = 0, arg("only_if") = py::none(), arg("only_if_value") = py::none(),
      "Starts a PUT; poll() calls done(version, exception).");
  type->def(
      "start_delete",
      [](PyClient& self, py::handle key, py::object done, py::handle only_if) {
        self.StartDelete(key, VersionOf(only_if), std::move(done));
      },
      arg("key"), arg("done"), py::kw_only(), arg("only_if") = py::none(),
      "Starts a DELETE; poll() calls done(was_there, exception).");
  type->def("poll", &PyClient::Poll,
            "Makes progress, calls what has ended; how many operations are left.");
  type->def("next_poll", &PyClient::next_poll_seconds,
            "Seconds until poll() is to be called, fileno() readable or not.");
}

// What pybind11 and this module keep belongs to one interpreter. Sets ImportError in others.
bool IsMainInterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError, "plov works in the main interpreter only");
  return false;
}

PyObject* RefuseOtherInterpreters(PyObject*, PyObject*) noexcept {
  return IsMainInterpreter() ? py::none().release().ptr() : nullptr;
}

void Define(py::module_* module) {
  using py::arg;
  const ClientOptions defaults;
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  CountForks();
  DefineItem(module);
  DefineUntil(module);
  ClientType type = DefineClient(module);
  DefineCalls(&type);
  DefineBatches(&type);
  DefineStarted(&type);
  DefineModifications(&type);
  DefineTogether(&type);
  DefineScan(module, &type);
  DefineVectors(module, &type);
  module->def("connect", &Connect, arg("uri") = "shm:default", py::kw_only(),
              arg("timeout") = seconds(defaults.timeout),
              arg("location_cache_bytes") = defaults.location_cache_bytes,
              arg("window") = defaults.window, arg("spin") = seconds(defaults.spin),
              arg("read_from") = "primary", arg("max_age") = seconds(defaults.max_age),
              "Connects to every shard of the server at `uri`.");
  // A module is initialized once for all interpreters, so each asks when it imports the package; by
  // the C API, for pybind11 would wait for ever.
  static std::array<PyMethodDef, 2> functions = {
      {{"refuse_other_interpreters", &RefuseOtherInterpreters, METH_NOARGS, nullptr}, {}}};
  PyModule_AddFunctions(module->ptr(), functions.data());
  module->attr("__version__") = PLOV_VERSION;
}

}  // namespace

}  // namespace plov::python

// As PYBIND11_MODULE has it, which would wait for ever in another interpreter.
extern "C" PYBIND11_EXPORT PyObject* PyInit__plov() {
  if (!plov::python::IsMainInterpreter()) return nullptr;
  PYBIND11_CHECK_PYTHON_VERSION
  PYBIND11_ENSURE_INTERNALS_READY
  static py::module_::module_def definition;
  auto module = py::module_::create_extension_module("_plov", nullptr, &definition);
  try {
    plov::python::Define(&module);
    return module.ptr();
  }
  PYBIND11_CATCH_INIT_EXCEPTIONS
}
