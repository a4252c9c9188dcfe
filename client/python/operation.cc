#include "client/python/operation.h"

#include <array>
#include <new>

#include "client/python/arguments.h"
#include "client/python/errors.h"

namespace py = pybind11;

namespace plov::python {

namespace {

PyTypeObject* item_type = nullptr;  // made by DefineItem, never destroyed

}  // namespace

void Operation::Note(const Client::GetResult& result) noexcept {
  try {
    if (!result) {
      outcome = result.error();
    } else if (*result) {
      const Item& item = **result;
      outcome = OwnItem{std::string(item.value), item.version, item.flags, item.expiry};
    } else {
      outcome = std::optional<OwnItem>();
    }
  } catch (const std::bad_alloc&) {
    outcome = Error{Code::kSystem, "no memory"};  // short enough to need none
  }
}

void Operation::Tell() const {
  if (!done) return;
  if (const auto* error = std::get_if<Error>(&outcome)) {
    done(py::none(), ExceptionOf(*error, key));
  } else if (const auto* version = std::get_if<Version>(&outcome)) {
    done(*version, py::none());
  } else if (const auto* removed = std::get_if<bool>(&outcome)) {
    done(*removed, py::none());
  } else if (const auto* number = std::get_if<Number>(&outcome)) {
    done(IntegerOf(*number, number_mode), py::none());
  } else if (const auto& hit = std::get<std::optional<OwnItem>>(outcome)) {
    done(ItemOf(hit->value, hit->version, hit->flags, hit->expiry), py::none());
  } else {
    done(py::none(), py::none());
  }
}

py::int_ IntegerOf(const Number& number, NumberMode mode) {
  if (mode == NumberMode::kSigned) return number.value;
  return static_cast<uint64_t>(number.value);
}

void DefineItem(py::module_* module) {
  static std::array<PyStructSequence_Field, 5> fields = {{
      {"value", "bytes"},
      {"version", "names one value of one key; increasing, unique in a server's life"},
      {"flags", "as they were stored"},
      {"expiry", "Unix seconds, 0 = never"},
      {nullptr, nullptr},
  }};
  static PyStructSequence_Desc description = {"plov.Item", "What is stored under a key.",
                                              fields.data(), 4};
  item_type = PyStructSequence_NewType(&description);
  if (item_type == nullptr) throw py::error_already_set();
  module->add_object("Item", static_cast<PyObject*>(static_cast<void*>(item_type)));
}

py::object ItemOf(std::string_view value, Version version, uint32_t flags, uint32_t expiry) {
  const auto item = py::reinterpret_steal<py::object>(PyStructSequence_New(item_type));
  if (!item) throw py::error_already_set();
  PyStructSequence_SET_ITEM(item.ptr(), 0, ToBytes(value).release().ptr());
  PyStructSequence_SET_ITEM(item.ptr(), 1, py::int_(version).release().ptr());
  PyStructSequence_SET_ITEM(item.ptr(), 2, py::int_(flags).release().ptr());
  PyStructSequence_SET_ITEM(item.ptr(), 3, py::int_(expiry).release().ptr());
  return item;
}

}  // namespace plov::python
