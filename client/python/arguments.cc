#include "client/python/arguments.h"

#include <utility>

namespace py = pybind11;

namespace plov::python {

namespace {

[[noreturn]] void RaiseNotBytes(py::handle object, const char* what) {
  const char* hint = PyUnicode_Check(object.ptr()) ? ": encode it" : "";
  PyErr_Format(PyExc_TypeError, "%s is bytes, not %s%s", what, Py_TYPE(object.ptr())->tp_name,
               hint);
  throw py::error_already_set();
}

py::tuple TupleOf(py::handle iterable) {
  // The bytes of one key are an iterable, too, and never what was meant.
  if (PyObject_CheckBuffer(iterable.ptr()) || PyUnicode_Check(iterable.ptr())) {
    PyErr_Format(PyExc_TypeError, "the keys are an iterable of bytes, not %s",
                 Py_TYPE(iterable.ptr())->tp_name);
    throw py::error_already_set();
  }
  auto tuple = py::reinterpret_steal<py::tuple>(PySequence_Tuple(iterable.ptr()));
  if (!tuple) throw py::error_already_set();
  return tuple;
}

bool HasOnlyBytes(py::handle tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); ++i) {
    if (!PyBytes_Check(PyTuple_GET_ITEM(tuple.ptr(), i))) return false;
  }
  return true;
}

}  // namespace

Bytes::Bytes(py::handle object, const char* what) {
  if (PyBytes_Check(object.ptr())) {  // what it is nearly always, without a call
    buffer_.obj = object.inc_ref().ptr();
    buffer_.buf = PyBytes_AS_STRING(object.ptr());
    buffer_.len = PyBytes_GET_SIZE(object.ptr());
    return;
  }
  if (!PyObject_CheckBuffer(object.ptr())) RaiseNotBytes(object, what);
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
}

Bytes::Bytes(Bytes&& other) noexcept : buffer_(std::exchange(other.buffer_, {})) {}

Bytes::~Bytes() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
}

py::bytes ToBytes(std::string_view view) {
  auto bytes = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(view.data(), static_cast<Py_ssize_t>(view.size())));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

py::bytes AsBytes(py::handle object, const char* what) {
  if (PyBytes_Check(object.ptr())) return py::reinterpret_borrow<py::bytes>(object);
  return ToBytes(Bytes(object, what).view());
}

Keys::Keys(py::handle iterable) : tuple_(TupleOf(iterable)) {
  if (!HasOnlyBytes(tuple_)) {
    py::tuple copies(tuple_.size());
    for (size_t i = 0; i < tuple_.size(); ++i) {
      copies[i] = AsBytes(PyTuple_GET_ITEM(tuple_.ptr(), static_cast<Py_ssize_t>(i)), "a key");
    }
    tuple_ = std::move(copies);
  }
  views_.reserve(tuple_.size());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple_.ptr()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(tuple_.ptr(), i);
    views_.emplace_back(PyBytes_AS_STRING(key), static_cast<size_t>(PyBytes_GET_SIZE(key)));
  }
}

}  // namespace plov::python
