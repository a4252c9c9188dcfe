// Key sweep: decides one key's history while it is still being made.
//
// What is kept is the set of all ways (configs) in which the operations so far may have taken
// effect; the history is wrong as soon as that set is empty. It stays small, nearly always one,
// for these reasons, which are also why the answer is exact:
//
// 1. Late. An operation takes effect when it must: at the end of some operation, and only if that
//    operation needs it to. Every right order of instants can be moved later in this way without
//    changing the order, up to the next end. So only ends are looked at, and at each only those
//    configs branch that do not meet it yet (Flush).
// 2. Versions order the stores. Named versions (eras) are entered in their order, each of them. All
//    that operations say of one version folds into three instants of its era: its store's start,
//    the earliest end and the latest start of what met it.
// 3. Observations cost nothing. A miss has been met if and only if the config was absent at some
//    instant since the miss's start. So instead of sets of observations a config has the last
//    instants at which it was absent, present, and present with another version.
// 4. DELETEs are interchangeable. Of the acknowledged ones that do not say what they removed the
// one
//    that ends first goes first: if two are swapped in a right order, both still fit. Before an
//    unknown DELETE of any version each of them goes first likewise. An unknown conditional one has
//    no other use than its version, so it goes before one of any version.
// 5. Unknown stores are anonymous until a GET shows them. A config holds the uses it made of them
//    (from absent, from which version, when), which must match different unknown stores
//    (sweep_state.h). When one is shown it leaves the pool, and configs whose uses no longer match
//    die.
// 6. A config that another one can do everything for is dropped (Dominates).
//
// Beyond the horizon: all operations that start before it are here, so that every move made before
// it knew all that may be moved. Later operations can only name what was anonymous: an unnamed
// present value may turn out to be the version of a new era (Claim).
//
// Memory: operations that started and are not decided, unknown stores for ever (they may take
// effect at any time), and the configs. What a settled key is takes 24 bytes (Settled).
//
// Limits: 64 DELETEs open at one time and kConfigsMax configs; beyond them the key is undecided,
//         which is told and never taken for right. Configs stay few as long as every version that
//         is named has a known value. A version that only a DELETE or kExists names, of a store
//         without an answer, doubles them for good: it may have come from absent or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "torture/sweep_state.h"

namespace plov::torture {

enum class Reason : uint8_t {
  kMalformed,     // fields that contradict the operation's kind
  kTwoStores,     // two stores, or two DELETEs, of one version
  kTwoValues,     // one version with two values
  kStale,         // what an operation met was gone before the operation started
  kNoOrder,       // at `instant` some operation had ended that fits into no order
  kTooAmbiguous,  // undecided: beyond the limits above
  // Between two lives of the server (torture/durability.h).
  kLost,          // acknowledged, or there since an earlier life, then gone
  kReadThenLost,  // returned by a GET, then gone
  kGap,           // gone, though a later write of the shard is there
  kNeverWas,      // there, though the life before never had it
};

struct Problem {
  Reason reason = Reason::kNoOrder;
  Instant instant = 0;
};

// A key of which nothing is open.
struct Settled {
  enum class Form : uint8_t { kAbsent, kPresent, kAnything };
  uint64_t version = 0;  // the last one
  ValueId value = kForeign;
  Form form = Form::kAbsent;
};

class KeySweep {
 public:
  static constexpr size_t kConfigsMax = 2048;

  void Reset(const Settled& settled);

  // operation: not refused; starts at or after every horizon so far.
  void Feed(const Operation& operation) { fresh_.push_back(operation); }

  // Decides what ended before `horizon`. Every operation that starts before it has been fed.
  void Sweep(Instant horizon);

  const std::optional<Problem>& problem() const { return problem_; }
  std::optional<Settled> settled() const;
  // Whether nothing can happen before the next Feed.
  bool is_quiet() const;

  // Operations, eras and configs held.
  size_t size() const;

 private:
  // What an operation without a named version needs to have met.
  enum class Need : uint8_t { kAbsent, kPresent, kOther };

  struct Float {
    Instant start = 0;
    Instant end = 0;
    uint64_t expected = 0;
    Need need = Need::kAbsent;
    bool is_open = false;  // started
  };

  struct OpenDelete {
    Instant start = 0;
    Instant end = 0;
    uint32_t slot = 0;
    bool is_open = false;
  };

  struct Mention {
    uint64_t version;
    uint32_t index;  // in fresh_
    bool is_store;   // the operation stored the version; else it met it
  };

  // What the end of an operation asks of every config.
  struct Target {
    enum class Type : uint8_t { kFloat, kEra, kGone, kDelete } type;
    size_t index = 0;      // of the float or DELETE
    uint64_t version = 0;  // of the era entered or gone
  };

  struct Event {
    Instant time;
    bool is_end;  // starts come before ends of the same instant
    Target target;
  };

  enum class Met : uint8_t { kNo, kYes, kIfAvoided };

  // Absorbing new operations (key_absorb.cc).
  void Absorb();
  void AbsorbUnknown(const Operation& operation);
  void AbsorbFloat(const Operation& operation);
  void AbsorbMentions();
  void KillPassed(const Mention& mention);
  void AddMention(const Mention& mention, Era* era);
  void AddStore(const Operation& operation, Era* era);
  void Resolve();
  static void Show(UnknownStore* store, Era* era);
  void RecheckUses();
  bool UseAgrees(Config* config, const Era& era) const;
  void Claim();
  std::optional<Config> Claimed(const Config& config) const;
  Era* FindEra(uint64_t version);
  const Era* FindEra(uint64_t version) const;
  const Era* NextEra(uint64_t version) const;
  size_t EraAfter(uint64_t version) const;

  // The sweep over ends (key_sweep.cc).
  bool IsPlain() const;
  void SweepPlain(Instant horizon);
  void SweepEvents(Instant horizon);
  void CollectEvents(Instant horizon);
  void Open(const Event& event);
  void Close(const Event& event);
  void Forget(const Target& target);
  void Prune();
  void Compact(Instant horizon);
  void DropUseless(uint64_t entered, Instant horizon);
  void Blame(Reason reason, Instant instant);

  // Moves of one config at now_ (key_moves.cc).
  Met Meets(const Config& config, const Target& target) const;
  Met MeetsFloat(const Config& config, const Float& need) const;
  void Flush(const Config& from, const Target& target, std::vector<Config>* met);
  void Expand(const Config& config);
  void TryEnter(const Config& config);
  void TryDelete(const Config& config);
  void TryUnknownDelete(const Config& config, bool has_known);
  void TryHidden(const Config& config);
  void Remove(Config next);
  void Put(Config next, uint64_t version);
  bool AddUse(Config* config, uint64_t version) const;
  bool CanLeave(const Config& config) const;
  bool NeedsAbsence(const Config& config) const;
  bool NeedsPresence(const Config& config) const;
  bool NeedsOther(const Config& config) const;
  void Reach(Config&& next);

  std::optional<Problem> problem_;
  std::vector<Operation> fresh_;
  std::vector<Era> eras_;  // by version
  std::vector<Config> configs_;
  std::vector<Float> floats_;
  std::vector<OpenDelete> deletes_;
  std::vector<UnknownStore> unknown_stores_;
  std::vector<UnknownDelete> unknown_deletes_;
  uint64_t started_deletes_ = 0;  // unknown, of any version, and no longer in unknown_deletes_

  // Scratch of one sweep.
  Instant now_ = kNever;
  std::vector<Mention> mentions_;
  std::vector<Event> events_;
  std::vector<Instant> deadlines_;
  std::vector<uint32_t> open_floats_;   // indices of floats that started and have not ended
  std::vector<uint32_t> open_deletes_;  // likewise
  uint64_t slots_ = 0;                  // taken by open_deletes_
  std::vector<Config> reached_;         // by the Flush under way, also what was left again
  std::vector<size_t> frontier_;        // of these, not expanded yet
};

}  // namespace plov::torture
