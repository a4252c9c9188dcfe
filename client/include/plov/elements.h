// In the source tree: what vectors are made of, as the lowest folder defines it. Installed, that file
// stands in this one's place.
#pragma once

#include "verify/elements.h"
