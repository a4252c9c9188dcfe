// Calls: how Python calls a client for one item, and what it asks about client and server.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include "client/python/arguments.h"
#include "client/python/client.h"
#include "client/python/errors.h"

namespace plov::python {

// Of a put, as Python says it: `ttl` seconds or None, `only_if` None, "absent", "present" or a
// version. Throws TypeError and ValueError.
PutOptions PutOptionsOf(pybind11::handle ttl, uint32_t flags, pybind11::handle only_if);
// The value that a put expects, or None. Hold it while the options, which refer to it, are used.
std::optional<Bytes> Expect(pybind11::handle only_if_value, PutOptions* options);

// Whole seconds from 1 on, or None for ever. Throws TypeError and ValueError.
Lifetime TtlOf(pybind11::handle ttl);
// The same of an argument of another name; none: what None means.
std::chrono::seconds SecondsOf(pybind11::handle given, const char* name, const char* none);

// Of a write that has a version as its only condition, or None.
Version VersionOf(pybind11::handle only_if);

// Runs `body` without the GIL; it returns a std::expected, whose error is raised.
template <typename Body>
auto Blocking(PyClient* client, Body&& body, pybind11::handle key = {}) {
  const PyClient::Call call(client);
  auto result = [&] {
    const pybind11::gil_scoped_release release;
    return body(call.operator->());
  }();
  if (!result) Raise(result.error(), key);
  if constexpr (!std::is_void_v<typename decltype(result)::value_type>) return std::move(*result);
}

Version PutWith(PyClient* client, pybind11::handle key, pybind11::handle value,
                const PutOptions& options);

// For py::custom_type_setup: only we make objects of the type. pybind11 would let others have one with
// nothing in it.
void RefuseNew(PyHeapTypeObject* heap_type);
// Raises what copy and pickle are told.
[[noreturn]] void RefuseCopy(pybind11::handle self);

using ClientType = pybind11::class_<PyClient>;
void DefineUntil(pybind11::module_* module);
ClientType DefineClient(pybind11::module_* module);
void DefineCalls(ClientType* type);

}  // namespace plov::python
