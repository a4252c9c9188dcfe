// In the source tree: the errors as the lowest folder defines them. Installed, that file stands in
// this one's place.
#pragma once

#include "verify/error.h"
