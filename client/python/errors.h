// Errors: how an Error of plov becomes an exception of Python.
#pragma once

#include <plov/error.h>
#include <pybind11/pybind11.h>

namespace plov::python {

// The exception for an error, of the class in plov/errors.py that its code has; `key` may be null.
pybind11::object ExceptionOf(const Error& error, pybind11::handle key = {});

[[noreturn]] void Raise(pybind11::handle exception);
[[noreturn]] void Raise(const Error& error, pybind11::handle key = {});
// plov.UsageError: a call that breaks a rule of its client.
[[noreturn]] void RaiseUsage(const char* message);

// Runs what Python calls without pybind11's dispatch: what it throws becomes Python's exception.
template <typename Body>
PyObject* Guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace plov::python
