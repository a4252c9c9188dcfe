// What the tests with an ensemble share: the ensemble, and a client in a process of its own.
#pragma once

#include <string>

#include "program/own_ensemble.h"

namespace plov::test {

// Ready, and so again at the end of each test.
extern program::OwnEnsemble* world;

// Has a session until it ends, then another one. Returns its exit status.
int RunClient(const std::string& uri);

}  // namespace plov::test
