#include "tests/sim/forger.h"

#include <algorithm>

#include "verify/record.h"

namespace plov::sim {

namespace {

constexpr size_t kRecordsMax = 8;
constexpr uint32_t kKeys = 3;  // of as many bytes as a word has, so that a value begins at one

}  // namespace

void Forger::Look(const server::Store& store) {
  const cuckoo::Geometry& table = store.table().current().geometry();
  const std::byte* memory = store.region().data();
  verify::Bucket bucket;
  verify::CopyFromShared(bucket.words(),
                         memory + table.BucketOffset(random_->Below(table.bucket_count)),
                         table.bucket_bytes);
  if (bucket.kind() != verify::BucketKind::kReference) return;
  const verify::Reference to = bucket.reference();
  const verify::MaskedItem item = verify::OwnRecord(memory, to.offset);
  last_mask_ = item.mask();
  const std::string key = item.key(), value(item.value_bytes(), 'F');
  if (IsItsKey(key)) return;
  Words words(verify::RoundUpToWord(to.record_bytes) / verify::kWordBytes);
  verify::WriteRecordHead(words.data(), {key, value, to.version, 0, 0}, value.size());
  verify::WriteRecordValue(words.data(), key.size(), value, {});
  verify::SealRecord(words.data(), to.record_bytes, verify::RecordSeed(store.incarnation()));
  records_.push_back(std::move(words));
  if (records_.size() > kRecordsMax) records_.pop_front();
}

// One record again and again, from any word on.
std::string Forger::Value(size_t bytes) const {
  const Words& record = records_[random_->Below(records_.size())];
  const uint64_t guess = random_->OneIn(2) ? last_mask_ : 0;
  Words words(bytes / verify::kWordBytes);
  for (size_t i = 0, at = random_->Below(record.size()); i < words.size(); ++i, ++at) {
    words[i] = record[at % record.size()] ^ guess;
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * verify::kWordBytes};
}

void Forger::Step(ServerProcess* server, uint32_t value_bytes_max) {
  Look(server->store());
  if (records_.empty() || value_bytes_max < 2 * verify::kWordBytes) return;
  const std::string key = "forger:" + std::to_string(random_->Below(kKeys));
  if (random_->OneIn(3)) {
    server->Delete(key);
  } else {
    server->Put(key, Value(random_->Between(verify::kWordBytes, value_bytes_max)));
  }
}

}  // namespace plov::sim
