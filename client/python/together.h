// Together: several keys at one instant.
#pragma once

#include "client/python/calls.h"

namespace plov::python {

void DefineTogether(ClientType* type);

}  // namespace plov::python
