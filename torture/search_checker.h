// Search checker: decides a small history of one key by trying every order of its operations.
//
// The slow, plain one of the two checkers: it knows the table of torture/history.h and nothing
// else. The interval checker (torture/interval_checker.h) is the fast one; they share no code but
// the history's types, so that a mistake in one shows as a difference.
//
// Source: Wing and Gong, "Testing and verifying concurrent objects", JPDC 1993; Lowe, "Testing for
//         linearizability", 2017, for remembering the states that led nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "torture/history.h"

namespace plov::torture {

enum class SearchResult : uint8_t {
  kGood,
  kBad,
  kUndecided,  // more than a checker takes on
};

// More would not fit in the search's set of done operations, nor end in time.
inline constexpr size_t kSearchOperationsMax = 64;

struct SearchOptions {
  Initial initial = Initial::kAbsent;
  size_t states_max = size_t{1} << 22;  // remembered, 32 bytes each and more
};

// history: of one key, in any order.
// Returns: kUndecided when there are more than kSearchOperationsMax operations that matter or more
//          than states_max states.
// Cost:    exponential in the number of concurrent operations.
SearchResult Search(std::span<const Operation> history, const SearchOptions& options = {});

}  // namespace plov::torture
