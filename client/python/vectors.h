// Vectors: values of elements of one type, and what the server does with them (plov/vectors.h).
#pragma once

#include "client/python/calls.h"

namespace plov::python {

void DefineVectors(pybind11::module_* module, ClientType* type);

}  // namespace plov::python
