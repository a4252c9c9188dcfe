// Sweep state: what the interval checker holds of one key; see torture/key_sweep.h for the
// argument.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

// One named version: what is known of its store and of the operations that say they met it.
struct Era {
  uint64_t version = 0;
  ValueId value = kForeign;      // valid if has_value
  Instant start = kForever;      // of its store; kForever: no store is known
  Instant first_end = kForever;  // by then it must have been stored
  Instant last_start = kNever;   // before then nothing may take its place
  Instant delete_end = kForever;
  uint64_t expected = 0;
  Kind kind = Kind::kPut;
  bool is_unknown = false;  // its store has no answer
  bool has_value = false;
  bool has_delete = false;  // a DELETE says that it removed this version
};

// A store whose outcome is unknown. Those that a GET has shown are the stores of eras; the others
// may be put to use wherever something was present without a known reason.
struct UnknownStore {
  Instant start = 0;
  ValueId value = kForeign;
  uint64_t expected = 0;
  Kind kind = Kind::kPut;
  bool is_shown = false;
};

struct UnknownDelete {
  Instant start = 0;
  uint64_t expected = 0;  // 0: of any version
};

// One use of some unknown store, without saying which. Any started one of a fitting kind will do,
// so that uses are matched to stores only as a whole (UsesFit), and a store that is shown later
// costs nothing as long as the others suffice.
inline constexpr uint64_t kFromAbsent = 0;
inline constexpr uint64_t kFromUnnamed = ~uint64_t{0};
struct Use {
  Instant time = 0;
  uint64_t from = kFromAbsent;  // what was there before: a version or one of the two above
  uint64_t version = 0;         // what it became, 0 when nobody names it

  bool operator==(const Use&) const = default;
};

bool Fits(const Use& use, const UnknownStore& store);

// Whether every use can have a store of its own among those not shown.
bool UsesFit(std::span<const Use> uses, std::span<const UnknownStore> stores);

// One way in which the operations so far may have taken effect.
struct Config {
  uint64_t version = 0;  // the last named version that was stored
  uint64_t used = 0;     // open DELETEs that have taken effect, by slot
  // When it was last absent, present, and present with another version than the last present one;
  // the state it is in now is not counted.
  Instant last_absent = kNever;
  Instant last_present = kNever;
  Instant other_present = kNever;
  uint32_t unknown_deletes = 0;  // of any version, used
  bool present = false;
  bool named = true;     // the present or last present value is `version`'s
  bool initial = false;  // the present value was there before the history
  std::vector<Use> uses;
  std::vector<uint64_t> avoid;  // what the unnamed present value's version cannot be

  bool operator==(const Config&) const = default;
};

// Writes the uses in the least telling form that matches the same stores, so that more configs are
// alike. `stores`: all that started before the uses.
void Simplify(Config* config, std::span<const UnknownStore> stores);

// Whether whatever can follow `worse` can follow `better`.
bool Dominates(const Config& better, const Config& worse);

// Adds `config` unless another dominates it, and removes those it dominates.
void AddUndominated(Config&& config, std::vector<Config>* configs);

}  // namespace plov::torture
