// Modifications: writes that make their value of the one that is there - append, prepend, increment,
// touch - blocking, and started.
#pragma once

#include "client/python/calls.h"

namespace plov::python {

void DefineModifications(ClientType* type);

}  // namespace plov::python
