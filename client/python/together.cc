#include "client/python/together.h"

#include <optional>
#include <utility>
#include <vector>

#include "client/python/operation.h"

namespace py = pybind11;

namespace plov::python {

namespace {

py::list SnapshotOf(PyClient& client, py::handle iterable) {
  const Keys keys(iterable);
  const PyClient::Call call(&client);
  const auto items = [&] {
    const py::gil_scoped_release release;
    return call->Snapshot(keys.views());
  }();
  if (!items) Raise(items.error());
  py::list list;
  for (const std::optional<Item>& item : *items) {
    list.append(item ? ItemOf(item->value, item->version, item->flags, item->expiry)
                     : py::object(py::none()));
  }
  return list;
}

// Calls take(key, what) for each pair of a mapping or of an iterable of pairs.
void ForEachPair(py::object pairs, const char* what, auto&& take) {
  if (py::hasattr(pairs, "items")) pairs = pairs.attr("items")();
  for (const py::handle pair : pairs) {
    if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2) throw py::type_error(what);
    const auto two = py::reinterpret_borrow<py::tuple>(pair);
    take(py::object(two[0]), py::object(two[1]));
  }
}

Version Commit(PyClient& client, py::object reads, py::object writes, py::handle ttl,
               uint32_t flags) {
  const Lifetime lifetime = TtlOf(ttl);
  std::vector<Bytes> held;
  std::vector<std::pair<size_t, Version>> read;                   // places of keys in `held`
  std::vector<std::pair<size_t, std::optional<size_t>>> written;  // and of values
  const auto hold = [&held](const py::object& object, const char* what) {
    held.emplace_back(object, what);
    return held.size() - 1;
  };
  ForEachPair(std::move(reads),
              "a read is a pair of a key and its version, None where it was absent",
              [&](const py::object& key, const py::object& version) {
                read.emplace_back(hold(key, "a key"), version.is_none() ? 0 : VersionOf(version));
              });
  ForEachPair(std::move(writes), "a write is a pair of a key and its value, None to delete it",
              [&](const py::object& key, const py::object& value) {
                const size_t at = hold(key, "a key");
                written.emplace_back(
                    at, value.is_none() ? std::nullopt : std::optional(hold(value, "a value")));
              });
  std::vector<CommitRead> given_reads;
  for (const auto& [key, version] : read) given_reads.push_back({held[key].view(), version});
  std::vector<CommitWrite> given_writes;
  for (const auto& [key, value] : written) {
    given_writes.push_back({.key = held[key].view(), .value = {}, .flags = flags, .ttl = lifetime});
    if (value) given_writes.back().value = held[*value].view();
  }
  return Blocking(&client,
                  [&](plov::Client* call) { return call->Commit(given_reads, given_writes); });
}

}  // namespace

void DefineTogether(ClientType* type) {
  using py::arg;
  type->def("snapshot_of", &SnapshotOf, arg("keys"),
            "The items of several keys as of one instant, None where there is none.");
  type->def("commit", &Commit, arg("reads"), arg("writes"), py::kw_only(), arg("ttl") = py::none(),
            arg("flags") = 0,
            "Applies all writes or none, if what was read stands; the first one's version.");
}

}  // namespace plov::python
