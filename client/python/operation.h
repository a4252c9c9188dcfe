// Operation: one that was started, from its arguments to what its callback is told.
#pragma once

#include <plov/client.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <variant>

namespace plov::python {

// An item with bytes of its own.
struct OwnItem {
  std::string value;
  Version version;
  uint32_t flags;
  uint32_t expiry;
};

struct Operation {
  // What a GET found, the version of a PUT, whether a DELETE removed something, what an INCREMENT
  // made.
  using Outcome = std::variant<std::optional<OwnItem>, Version, bool, Number, Error>;

  // These notes are taken without the GIL.
  void Note(const Client::GetResult& result) noexcept;
  void Note(const Client::PutResult& result) noexcept { NoteWrite(result); }
  void Note(const Client::DeleteResult& result) noexcept { NoteWrite(result); }
  void Note(const Client::IncrementResult& result) noexcept { NoteWrite(result); }

  std::string_view key_view() const { return key; }
  std::string_view value_view() const { return value; }
  std::string_view expected_view() const { return expected; }

  // Calls `done` with the outcome. Throws what it raises.
  void Tell() const;

  pybind11::bytes key;
  pybind11::bytes value;
  pybind11::object done;  // null: nobody wants to know
  Outcome outcome = {};
  pybind11::bytes expected = {};  // of a PUT that compares
  NumberMode number_mode = NumberMode::kSigned;

 private:
  void NoteWrite(const auto& result) noexcept {
    if (result) {
      outcome = *result;
    } else {
      outcome = result.error();
    }
  }
};

// plov.Item, a named tuple.
void DefineItem(pybind11::module_* module);
pybind11::object ItemOf(std::string_view value, Version version, uint32_t flags, uint32_t expiry);
inline pybind11::object ItemOf(const Item& item) {
  return ItemOf(item.value, item.version, item.flags, item.expiry);
}

// The number of an INCREMENT.
pybind11::int_ IntegerOf(const Number& number, NumberMode mode);

}  // namespace plov::python
