// Calls: how Python calls a client for one item, and what it asks about client and server.
#pragma once

#include <pybind11/pybind11.h>

#include "client/python/client.h"

namespace plov::python {

// Of a put, as Python says it: `ttl` seconds or None, `only_if` None, "absent", "present" or a
// version. Throws TypeError and ValueError.
PutOptions PutOptionsOf(pybind11::handle ttl, uint32_t flags, pybind11::handle only_if);

// Of a write that has a version as its only condition, or None.
Version VersionOf(pybind11::handle only_if);

// For py::custom_type_setup: only we make objects of the type. pybind11 would let others have one with
// nothing in it.
void RefuseNew(PyHeapTypeObject* heap_type);
// Raises what copy and pickle are told.
[[noreturn]] void RefuseCopy(pybind11::handle self);

using ClientType = pybind11::class_<PyClient>;
ClientType DefineClient(pybind11::module_* module);
void DefineCalls(ClientType* type);

}  // namespace plov::python
