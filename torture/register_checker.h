// Register checker: decides the history of one register, by values alone.
//
// Goes through starts and ends in their order and keeps the set of all ways (configs) in which the
// operations so far may have taken effect: what the register holds, and which of the operations
// under way have taken effect already. An operation takes effect when it must, at its own end or
// because another one that ends needs what it stored. When the set is empty, the operation that
// ended last is impossible.
//
// Open operations never end, so each doubles the configs at worst. Three rules keep them few: an
// open one that stores what nobody ever needs is left out; of open ones that do the same the one
// that began first goes first; a config that has used more open ones than another, and is like it
// otherwise, is dropped.
//
// Source: Lowe, "Testing for linearizability", 2017 (just-in-time linearization).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "torture/durability.h"
#include "torture/register_history.h"
#include "torture/search_checker.h"

namespace plov::torture {

struct RegisterResult {
  SearchResult verdict = SearchResult::kGood;
  // kBad: the operation that no order explains together with those before, by its place in the
  // history.
  size_t impossible = 0;
};

// A kill ends a life of the store: the register may go back to what it held before, as far as
// `commit` lets it (torture/durability.h). Like an operation, it takes effect at one instant for all,
// and what is under way then may have happened before it or happens after it.
struct RegisterOptions {
  size_t configs_max = size_t{1} << 18;  // at one time; more is kUndecided
  std::span<const Instant> kills = {};   // in order
  Commit commit = Commit::kStrict;
};

// history: of one register that is absent before, in any order.
RegisterResult CheckRegister(std::span<const RegisterCall> history,
                             const RegisterOptions& options = {});

// What is left of a wrong history when everything is left out without which it is still wrong. Only
// steps are taken after which a right history would still be right; the impossible operation stays.
std::vector<RegisterCall> ShrinkRegister(std::vector<RegisterCall> history,
                                         const RegisterOptions& options = {});

}  // namespace plov::torture
