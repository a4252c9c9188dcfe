#include "client/python/errors.h"

namespace py = pybind11;

namespace plov::python {

py::object ExceptionOf(const Error& error, py::handle key) {
  const auto make = py::module_::import("plov.errors").attr("exception_of");
  // A message may quote bytes of anywhere.
  const auto text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()), "backslashreplace"));
  return make(static_cast<int>(error.code), text, key ? key : py::none());
}

void Raise(py::handle exception) {
  PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

void Raise(const Error& error, py::handle key) { Raise(ExceptionOf(error, key)); }

void RaiseUsage(const char* message) {
  Raise(py::module_::import("plov.errors").attr("UsageError")(message));
}

}  // namespace plov::python
