// WriteOrder: the writes of one shard that are known, in the order of their versions, which is the order in which they were
// applied.
//
// Each write knows up to which version an operation has shown it to be its key's last one. So a write of that key
// between the two is noticed, also when it becomes known later.
//
// Memory: what Retire leaves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "torture/transaction_violation.h"

namespace plov::torture {

class WriteOrder {
 public:
  struct Write {
    uint64_t version = 0;
    ValueId value = kForeign;  // kForeign: the key is absent from then on
    uint64_t last = 0;         // of the commit that it belongs to
    SharedRecord by = nullptr;
    uint64_t stands_until = 0;  // no write of the key comes behind it up to here
    SharedRecord stands_by = nullptr;

    bool is_absence() const { return value == kForeign; }
  };

  // All keys are absent.
  WriteOrder();

  // The key is one that operations of this shard have.
  void Use(uint32_t key) { is_used_[key] = true; }

  std::optional<Contradiction> Add(uint32_t key, Write write);

  // nullptr: there is none that is known, or it is retired.
  Write* Find(uint32_t key, uint64_t version);
  // The key's last one up to there.
  Write& LastAt(uint32_t key, uint64_t version);
  // The next of its key; the next after which the key is absent.
  Write* Next(uint32_t key, uint64_t version);
  Write* NextAbsence(uint32_t key, uint64_t version);
  static void Keep(Write* write, uint64_t until, const SharedRecord& by);

  // Forgets what no operation can find any more, when every one that comes finds what is there at `floor` or
  // later, and one of unknown outcome may yet become known. Returns the values that are gone.
  std::vector<ValueId> Retire(uint64_t floor);
  size_t size() const { return by_version_.size(); }

 private:
  std::vector<std::map<uint64_t, Write>> keys_;
  std::vector<bool> is_used_;
  std::map<uint64_t, SharedRecord> by_version_;
};

}  // namespace plov::torture
