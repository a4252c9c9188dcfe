#include "client/python/batches.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/python/arguments.h"
#include "client/python/errors.h"

namespace py = pybind11;

namespace plov::python {

namespace {

// Keys of a part: at first few, for who knows how large their values are, then as many as come to
// kPartBytes, so that the copy that is made without the GIL stays small beside what is returned.
constexpr size_t kPartMin = 64;
constexpr size_t kPartMax = 4096;  // about a millisecond
constexpr size_t kPartBytes = size_t{16} << 20;

// The first failure of a part, in the order of its items.
class Failure {
 public:
  void Note(size_t index, const Error& error) {
    if (error_ && index >= index_) return;
    index_ = index;
    error_ = error;
  }
  explicit operator bool() const { return error_.has_value(); }
  size_t index() const { return index_; }
  const Error& error() const { return *error_; }

 private:
  size_t index_ = 0;
  std::optional<Error> error_;
};

void HandleSignals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Gets the keys `first` to `end` without the GIL and calls `take(index, item or null)`; raises what
// fails.
void GetPart(PyClient* client, const Keys& keys, size_t first, size_t end, auto&& take) {
  Failure failure;
  {
    const PyClient::Call call(client);
    const py::gil_scoped_release release;
    call->GetMany(keys.views().subspan(first, end - first),
                  [&](size_t i, const plov::Client::GetResult& result) {
                    if (!result) return failure.Note(i, result.error());
                    take(first + i, *result ? &**result : nullptr);
                  });
  }
  HandleSignals();
  if (failure) Raise(failure.error(), keys[first + failure.index()]);
}

// The values of a part, copied one behind the other.
class Values {
 public:
  void Begin(size_t count) {
    bytes_.clear();
    places_.assign(count, {});
  }
  void Take(size_t i, const Item* item) {
    if (item == nullptr) return;
    places_[i] = {bytes_.size(), item->value.size(), true};
    bytes_.append(item->value);
  }

  size_t bytes() const { return bytes_.size(); }
  std::optional<std::string_view> operator[](size_t i) const {
    const Place& place = places_[i];
    if (!place.is_there) return std::nullopt;
    return std::string_view(bytes_).substr(place.offset, place.bytes);
  }

 private:
  struct Place {
    size_t offset = 0;
    size_t bytes = 0;
    bool is_there = false;
  };

  std::string bytes_;
  std::vector<Place> places_;
};

// Gets all keys and calls `use(index, value if there is one)` with the GIL, in their order.
void GetAll(PyClient* client, const Keys& keys, auto&& use) {
  Values values;
  size_t part = kPartMin;
  for (size_t first = 0; first < keys.size();) {
    const size_t end = std::min(first + part, keys.size());
    values.Begin(end - first);
    GetPart(client, keys, first, end,
            [&](size_t i, const Item* item) { values.Take(i - first, item); });
    for (size_t i = first; i < end; ++i) use(i, values[i - first]);
    const size_t mean = values.bytes() / (end - first) + 1;
    part = std::clamp(kPartBytes / mean, size_t{1}, kPartMax);
    first = end;
  }
}

py::list GetMany(PyClient& client, py::handle iterable) {
  const Keys keys(iterable);
  py::list list;
  GetAll(&client, keys, [&](size_t, std::optional<std::string_view> value) {
    list.append(value ? py::object(ToBytes(*value)) : py::none());
  });
  return list;
}

py::dict GetDict(PyClient& client, py::handle iterable) {
  const Keys keys(iterable);
  py::dict dict;
  GetAll(&client, keys, [&](size_t i, std::optional<std::string_view> value) {
    if (value) dict[keys[i]] = ToBytes(*value);
  });
  return dict;
}

// The rows of an array: each has the bytes of one value.
struct Rows {
  std::byte* data;
  size_t row_bytes;
};

[[noreturn]] void RaiseArray(const std::string& why) { throw py::value_error("the array " + why); }

Rows RowsOf(py::handle object, size_t count) {
  if (!py::isinstance<py::array>(object)) {
    throw py::type_error("the array is a numpy.ndarray");
  }
  auto array = py::reinterpret_borrow<py::array>(object);
  if (array.ndim() < 1 || static_cast<size_t>(array.shape(0)) != count) {
    RaiseArray("has not one row for each of the " + std::to_string(count) + " keys");
  }
  if (py::cast<bool>(array.dtype().attr("hasobject"))) RaiseArray("holds Python objects");
  if (!array.writeable()) RaiseArray("is read-only");
  if ((array.flags() & py::array::c_style) == 0) RaiseArray("is not C-contiguous");
  const auto bytes = static_cast<size_t>(array.nbytes());
  return {static_cast<std::byte*>(array.mutable_data()), count == 0 ? 0 : bytes / count};
}

py::array_t<bool> GetManyInto(PyClient& client, py::handle iterable, py::object array) {
  const Keys keys(iterable);
  const Rows rows = RowsOf(array, keys.size());
  py::array_t<bool> found(static_cast<py::ssize_t>(keys.size()));
  bool* is_found = found.mutable_data();
  std::fill_n(is_found, keys.size(), false);
  for (size_t first = 0; first < keys.size(); first += kPartMax) {
    const size_t end = std::min(first + kPartMax, keys.size());
    Failure failure;
    GetPart(&client, keys, first, end, [&](size_t i, const Item* item) {
      if (item == nullptr) return;
      const std::string_view value = item->value;
      if (value.size() != rows.row_bytes) {
        return failure.Note(
            i, {Code::kBufferTooSmall, "the value has " + std::to_string(value.size()) +
                                           " bytes, a row of the array " +
                                           std::to_string(rows.row_bytes)});
      }
      if (!value.empty()) std::memcpy(rows.data + i * rows.row_bytes, value.data(), value.size());
      is_found[i] = true;
    });
    if (failure) Raise(failure.error(), keys[failure.index()]);
  }
  return found;
}

// Puts the items that an iterable of pairs yields, and remembers how each ended.
class Puts {
 public:
  Puts(PyClient* client, const PutOptions& options) : client_(client), options_(options) {}

  // Takes the next items, some; false at the end.
  bool Take(py::iterator* pairs) {
    held_.clear();
    size_t bytes = 0;
    while (held_.size() < 2 * kPartMax && bytes < kPartBytes) {
      if (*pairs == py::iterator::sentinel()) break;
      Hold(**pairs);
      bytes += held_.back().view().size();
      ++*pairs;
    }
    return !held_.empty();
  }

  void Put() {
    std::vector<PutItem> items;
    for (size_t i = 0; i < held_.size(); i += 2) {
      items.push_back({held_[i].view(), held_[i + 1].view(), options_});
    }
    std::vector<plov::Client::PutResult> results(items.size(), 0);
    {
      const PyClient::Call call(client_);
      const py::gil_scoped_release release;
      call->PutMany(
          items, [&](size_t i, plov::Client::PutResult result) { results[i] = std::move(result); });
    }
    for (size_t i = 0; i < items.size(); ++i) Note(items[i].key, results[i]);
  }

  // The versions; raises the first failure, with how each item ended.
  py::list Results() const {
    if (!first_) return results_;
    first_.attr("results") = results_;
    Raise(first_);
  }
  bool failed() const { return static_cast<bool>(first_); }

 private:
  void Hold(py::handle pair) {
    const auto two = py::reinterpret_steal<py::object>(
        PySequence_Fast(pair.ptr(), "an item is a pair of key and value"));
    if (!two) throw py::error_already_set();
    if (PyBytes_Check(pair.ptr()) || PySequence_Fast_GET_SIZE(two.ptr()) != 2) {
      throw py::type_error("an item is a pair of key and value");
    }
    Bytes key(PySequence_Fast_GET_ITEM(two.ptr(), 0), "a key");
    Bytes value(PySequence_Fast_GET_ITEM(two.ptr(), 1), "a value");
    held_.push_back(std::move(key));
    held_.push_back(std::move(value));
  }

  void Note(std::string_view key, const plov::Client::PutResult& result) {
    if (result) return results_.append(*result);
    const py::object error = ExceptionOf(result.error(), ToBytes(key));
    if (!first_) first_ = error;
    results_.append(error);
  }

  PyClient* client_;
  PutOptions options_;
  std::vector<Bytes> held_;  // key, value, key, value
  py::list results_;
  py::object first_;
};

py::list PutMany(PyClient& client, py::object items, py::handle ttl, uint32_t flags,
                 py::handle only_if) {
  Puts puts(&client, PutOptionsOf(ttl, flags, only_if));
  if (py::hasattr(items, "items")) items = items.attr("items")();
  for (py::iterator pairs = py::iter(items); !puts.failed() && puts.Take(&pairs);) {
    puts.Put();
    HandleSignals();
  }
  return puts.Results();
}

}  // namespace

void DefineBatches(ClientType* type) {
  using py::arg;
  type->def("get_many", &GetMany, arg("keys"),
            "The values of many keys, None where there is none.");
  type->def("get_dict", &GetDict, arg("keys"), "The values of the keys that are there, by key.");
  type->def("get_many_into", &GetManyInto, arg("keys"), arg("array"),
            "Fills the rows of an array; which of the keys are there.");
  type->def("put_many", &PutMany, arg("items"), py::kw_only(), arg("ttl") = py::none(),
            arg("flags") = 0, arg("only_if") = py::none(),
            "Stores the items of a mapping or of an iterable of pairs; their versions.");
}

}  // namespace plov::python
