// Arguments: the bytes of Python's bytes-like objects, held while plov looks at them.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string_view>
#include <vector>

namespace plov::python {

// The bytes of one object: bytes, or anything else that has a contiguous buffer; that cannot be
// resized while it is held. Made and destroyed with the GIL, looked at without.
class Bytes {
 public:
  // Throws TypeError, in which `what` ("a key") names the object, or BufferError.
  Bytes(pybind11::handle object, const char* what);
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&&) = delete;
  ~Bytes();

  std::string_view view() const {
    return {static_cast<const char*>(buffer_.buf), static_cast<size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

// The object as bytes, which nobody can change: itself, or a copy.
pybind11::bytes AsBytes(pybind11::handle object, const char* what);

// Many keys. What is not bytes is copied.
class Keys {
 public:
  explicit Keys(pybind11::handle iterable);

  size_t size() const { return views_.size(); }
  std::span<const std::string_view> views() const { return views_; }
  pybind11::handle operator[](size_t i) const {
    return PyTuple_GET_ITEM(tuple_.ptr(), static_cast<Py_ssize_t>(i));
  }

 private:
  pybind11::tuple tuple_;  // of bytes
  std::vector<std::string_view> views_;
};

pybind11::bytes ToBytes(std::string_view view);

}  // namespace plov::python
