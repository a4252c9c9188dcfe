#include "door/redis/key_read.h"

#include <memory>
#include <utility>
#include <vector>

#include "door/connection.h"
#include "door/redis/transaction_items.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

// Requests of a thread that are kept for the next ones.
constexpr size_t kSpareReadsMax = 1024;
// Values of so many bytes are within the budget before they are copied, not after.
constexpr size_t kReservedFrom = 4096;

std::vector<std::unique_ptr<KeyRead>>& SpareReads() {
  thread_local std::vector<std::unique_ptr<KeyRead>> spare;
  return spare;
}

}  // namespace

KeyRead* KeyRead::Make(std::string_view key, Show show, Resp resp) {
  auto& spare = SpareReads();
  KeyRead* read = nullptr;
  if (spare.empty()) {
    read = new KeyRead;
  } else {
    read = spare.back().release();
    spare.pop_back();
  }
  read->kind = Kind::kRead;
  read->key_ = key;
  read->show_ = show;
  read->resp_ = resp;
  return read;
}

void KeyRead::Recycle() {
  std::unique_ptr<KeyRead> self(this);
  if (SpareReads().size() >= kSpareReadsMax) return;
  opens_group = true;
  closes_group = true;
  has_failed = false;
  reply = {};
  group.reset();
  heading.clear();
  is_kept_ = false;
  SpareReads().push_back(std::move(self));
}

bool KeyRead::TakeItem(const Client::GetResult& result, std::string* to) {
  Counters& counters = connection()->worker()->counters();
  counters.Add(Count::kGets);
  const bool is_element = group && group->is_each();
  *to += heading;
  if (!result) {
    counters.Add(Count::kFailures);
    AddFailure(result.error(), to);
    return is_element;
  }
  const Item* item = *result ? &**result : nullptr;
  if (item != nullptr) {
    counters.Add(Count::kGetHits);
    const size_t bytes = item->value.size();
    if (bytes >= kReservedFrom && !connection()->Reserve(bytes)) {
      counters.Add(Count::kOutOfMemory);
      AddError(kOutOfMemory, to);
      return is_element;
    }
  }
  show_(*this, item, to);
  return true;
}

void KeyRead::RunOn(TransactionItems* items, std::string* to) {
  *to += heading;
  show_(*this, items->Find(key_), to);
}

void KeyRead::Keep() {
  if (is_kept_) return;
  is_kept_ = true;
  kept_key_.assign(key_);
  key_ = kept_key_;
}

std::string_view KeyRead::closing() const { return group ? group->Closing() : std::string_view(); }

size_t KeyRead::bytes() const {
  return sizeof(*this) + reply.capacity() + kept_key_.capacity() + heading.capacity();
}

}  // namespace plov::door::redis
