#include "fabric/access.h"

#include <unistd.h>

#include <algorithm>

namespace plov::fabric {

namespace {

bool IsOwner(const Person& person) { return person.user == uid_t{0} || person.user == ::geteuid(); }

}  // namespace

bool AccessList::Has(const Person& person) const {
  if (person.user && std::ranges::find(users, *person.user) != users.end()) return true;
  return std::ranges::any_of(person.groups, [this](gid_t group) {
    return std::ranges::find(groups, group) != groups.end();
  });
}

bool Access::MayAdminister(const Person& person) const {
  return person.user ? IsOwner(person) : Of(person) == Right::kWrite;
}

Right Access::Of(const Person& person) const {
  if (IsOwner(person)) return Right::kWrite;
  if (writers && writers->Has(person)) return Right::kWrite;
  if (readers && readers->Has(person)) return Right::kRead;
  if (!writers) return Right::kWrite;
  return readers ? Right::kNone : Right::kRead;
}

}  // namespace plov::fabric
