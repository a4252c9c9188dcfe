#include "client/python/vectors.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <variant>

namespace py = pybind11;

namespace plov::python {

namespace {

// As their numbers are, which begin with 1.
constexpr auto kTypes = std::to_array<std::string_view>(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"});
constexpr std::string_view kTypeCodes = "bhiqBHIQfd";  // of array.array
constexpr auto kFunctions =
    std::to_array<std::string_view>({"assign", "add", "min", "max", "and", "or", "xor"});
constexpr auto kComparisons = std::to_array<std::string_view>({"==", "!=", "<", "<=", ">", ">="});
static_assert(kTypes.size() == static_cast<size_t>(ElementType::kDouble));
static_assert(kTypeCodes.size() == kTypes.size());
static_assert(kFunctions.size() == static_cast<size_t>(VectorFunction::kXor));
static_assert(kComparisons.size() == static_cast<size_t>(Comparison::kGreaterOrEqual));

template <typename Enum>
Enum Named(std::span<const std::string_view> words, std::string_view word, const char* what) {
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<Enum>(found - words.begin() + 1);
  std::string message = std::string(what) + " is one of";
  for (const std::string_view each : words) message.append(" ").append(each);
  throw py::value_error(message);
}

ElementType TypeNamed(std::string_view name) { return Named<ElementType>(kTypes, name, "type"); }
VectorFunction FunctionNamed(std::string_view name) {
  return Named<VectorFunction>(kFunctions, name, "function");
}
Comparison ComparisonNamed(std::string_view name) {
  return Named<Comparison>(kComparisons, name, "comparison");
}

// Null-terminated, as all words above are.
const char* NameOf(ElementType type) { return kTypes[static_cast<size_t>(type) - 1].data(); }

[[noreturn]] void RaiseRange(py::handle number, ElementType type) {
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%R is out of the range of %s elements", number.ptr(),
               NameOf(type));
  throw py::error_already_set();
}

// Throws TypeError and OverflowError.
template <std::integral T>
T NumberOf(py::handle number) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
  if (!index) throw py::error_already_set();
  const auto wide = [&] {
    if constexpr (std::is_signed_v<T>) {
      return PyLong_AsLongLong(index.ptr());
    } else {
      return PyLong_AsUnsignedLongLong(index.ptr());
    }
  }();
  if (PyErr_Occurred() != nullptr || !std::in_range<T>(wide)) {
    RaiseRange(number, ElementTypeOf<T>());
  }
  return static_cast<T>(wide);
}

// The nearest that there is.
template <std::floating_point T>
T NumberOf(py::handle number) {
  const double wide = PyFloat_AsDouble(number.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  const auto narrow = static_cast<T>(wide);
  if (std::isinf(narrow) && !std::isinf(wide)) RaiseRange(number, ElementTypeOf<T>());
  return narrow;
}

py::object ObjectOf(ElementType type, const char* element) {
  return WithElement(type, [&](auto number) {
    std::memcpy(&number, element, sizeof(number));
    return py::cast(number);
  });
}

// None of what has no buffer, and of one number: NumPy's have one.
std::optional<py::buffer_info> BufferOf(py::handle object) {
  if (!PyObject_CheckBuffer(object.ptr())) return std::nullopt;
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    throw py::error_already_set();
  }
  py::buffer_info buffer(view.release());
  if (buffer.ndim == 0) return std::nullopt;
  return buffer;
}

// The size of an integer is the buffer's: that of "l" is the platform's. Throws TypeError.
ElementType TypeOf(const py::buffer_info& buffer) {
  std::string_view format = buffer.format;
  if (format.size() == 2 && std::string_view("@=<").contains(format[0])) format.remove_prefix(1);
  const auto bytes = static_cast<size_t>(buffer.itemsize);
  if (format == "f" && bytes == sizeof(float)) return ElementType::kFloat;
  if (format == "d" && bytes == sizeof(double)) return ElementType::kDouble;
  const bool is_signed = std::string_view("bhilqn").contains(format);
  const bool is_integer = is_signed || std::string_view("BHILQN").contains(format);
  if (format.size() != 1 || !is_integer || !std::has_single_bit(bytes) || bytes > 8) {
    throw py::type_error("a buffer of \"" + buffer.format + "\" has no elements of a vector");
  }
  const int first = static_cast<int>(is_signed ? ElementType::kInt8 : ElementType::kUint8);
  return static_cast<ElementType>(first + std::countr_zero(bytes));
}

void AppendNumber(ElementType type, py::handle number, std::string* bytes) {
  WithElement(type, [&](auto zero) {
    const auto element = NumberOf<decltype(zero)>(number);
    std::array<char, sizeof(element)> raw;
    std::memcpy(raw.data(), &element, sizeof(element));
    bytes->append(raw.data(), raw.size());
  });
}

// Of a buffer of this type, or of any iterable of numbers.
void AppendElements(ElementType type, py::handle elements, std::string* bytes) {
  if (const auto buffer = BufferOf(elements)) {
    const ElementType own = TypeOf(*buffer);
    if (own != type) {
      throw py::type_error(std::string("the elements are ") + NameOf(own) + ", not " +
                           NameOf(type));
    }
    bytes->append(static_cast<const char*>(buffer->ptr),
                  static_cast<size_t>(buffer->size * buffer->itemsize));
    return;
  }
  for (const py::handle number : py::iter(elements)) AppendNumber(type, number, bytes);
}

// One number, or elements.
std::string OperandOf(ElementType type, py::handle operand) {
  std::string bytes;
  if (BufferOf(operand) || Py_TYPE(operand.ptr())->tp_iter != nullptr) {
    AppendElements(type, operand, &bytes);
  } else {
    AppendNumber(type, operand, &bytes);
  }
  return bytes;
}

using Name = std::optional<std::string>;

// What is named, or the operand's own.
std::optional<ElementType> TypeOf(const Name& name, py::handle operand) {
  if (name) return TypeNamed(*name);
  if (const auto buffer = BufferOf(operand)) return TypeOf(*buffer);
  return std::nullopt;
}

// Or the vector's, for which the server is asked.
ElementType TypeOf(const Name& name, py::handle operand, PyClient* client, py::handle key) {
  if (const auto type = TypeOf(name, operand)) return *type;
  const Bytes bytes(key, "a key");
  const auto ask = [&](plov::Client* call) {
    return call->ReduceVector(bytes.view(), VectorFunction::kAdd, {.first = 0, .count = 0});
  };
  return Blocking(client, ask, key).type;
}

VectorSlice SliceOf(uint64_t first, std::optional<uint64_t> count) {
  return {.first = first, .count = count.value_or(VectorSlice::kToEnd)};
}

py::bytes Vector(const std::string& type, py::handle elements) {
  const ElementType of = TypeNamed(type);
  std::string value = VectorValue(of, {});
  AppendElements(of, elements, &value);
  return ToBytes(value);
}

py::object Elements(py::handle value) {
  const Bytes bytes(value, "a value");
  const auto vector = VectorView::Of(bytes.view());
  if (!vector) return py::none();
  const char code = kTypeCodes[static_cast<size_t>(vector->type()) - 1];
  py::object array = py::module_::import("array").attr("array")(std::string(1, code));
  array.attr("frombytes")(ToBytes(vector->bytes()));
  return array;
}

Version UpdateVector(PyClient& client, py::handle key, const std::string& function,
                     py::handle operand, const Name& type, uint64_t first,
                     std::optional<uint64_t> count, py::handle only_if) {
  const VectorFunction by = FunctionNamed(function);
  const VectorOptions options{.slice = SliceOf(first, count),
                              .expected_version = VersionOf(only_if)};
  const Bytes bytes(key, "a key");
  const ElementType of = TypeOf(type, operand, &client, key);
  const std::string elements = OperandOf(of, operand);
  const auto update = [&](plov::Client* call) {
    return call->UpdateVector(bytes.view(), by, {of, elements}, options);
  };
  return Blocking(&client, update, key);
}

void StartUpdateVector(PyClient& client, py::handle key, const std::string& function,
                       py::handle operand, py::object done, const Name& type, uint64_t first,
                       std::optional<uint64_t> count, py::handle only_if) {
  const VectorFunction by = FunctionNamed(function);
  const VectorOptions options{.slice = SliceOf(first, count),
                              .expected_version = VersionOf(only_if)};
  const auto of = TypeOf(type, operand);
  if (!of) throw py::type_error("numbers need a type here; an array.array brings its own");
  const std::string elements = OperandOf(*of, operand);
  client.StartUpdateVector(key, {by, {*of, elements}, options}, std::move(done));
}

py::object ReduceVector(PyClient& client, py::handle key, const std::string& function,
                        uint64_t first, std::optional<uint64_t> count) {
  const VectorFunction by = FunctionNamed(function);
  const Bytes bytes(key, "a key");
  const auto reduce = [&](plov::Client* call) {
    return call->ReduceVector(bytes.view(), by, SliceOf(first, count));
  };
  const Reduced reduced = Blocking(&client, reduce, key);
  return std::visit([](auto value) { return py::cast(value); }, reduced.value);
}

py::list FilterVector(PyClient& client, py::handle key, const std::string& comparison,
                      py::handle operand, const Name& type, uint64_t first,
                      std::optional<uint64_t> count) {
  const Comparison by = ComparisonNamed(comparison);
  const Bytes bytes(key, "a key");
  const ElementType of = TypeOf(type, operand, &client, key);
  const std::string element = OperandOf(of, operand);
  const auto filter = [&](plov::Client* call) {
    return call->FilterVector(bytes.view(), by, {of, element}, SliceOf(first, count));
  };
  const Filtered found = Blocking(&client, filter, key);
  py::list pairs(found.indexes.size());
  const char* at = found.bytes.data();
  for (size_t i = 0; i < found.indexes.size(); ++i, at += ElementBytes(of)) {
    pairs[i] = py::make_tuple(found.indexes[i], ObjectOf(of, at));
  }
  return pairs;
}

}  // namespace

void DefineVectors(py::module_* module, ClientType* type) {
  using py::arg;
  module->def("vector", &Vector, arg("type"), arg("elements"),
              "The value of a vector of these elements.");
  module->def("elements", &Elements, arg("value"),
              "The elements of a value, or None where it is no vector.");
  type->def("update_vector", &UpdateVector, arg("key"), arg("function"), arg("operand"),
            py::kw_only(), arg("type") = py::none(), arg("first") = 0, arg("count") = py::none(),
            arg("only_if") = py::none(),
            "Changes elements of a vector by a function of them and the operand; its version.");
  type->def("reduce_vector", &ReduceVector, arg("key"), arg("function"), py::kw_only(),
            arg("first") = 0, arg("count") = py::none(),
            "What the function makes of elements of a vector.");
  type->def("filter_vector", &FilterVector, arg("key"), arg("comparison"), arg("operand"),
            py::kw_only(), arg("type") = py::none(), arg("first") = 0, arg("count") = py::none(),
            "Pairs of index and element of those that compare so to the operand.");
  type->def("start_update_vector", &StartUpdateVector, arg("key"), arg("function"), arg("operand"),
            arg("done"), py::kw_only(), arg("type") = py::none(), arg("first") = 0,
            arg("count") = py::none(), arg("only_if") = py::none(),
            "Starts an update of a vector; poll() calls done(version, exception).");
}

}  // namespace plov::python
