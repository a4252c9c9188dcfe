#include "server/unlogged.h"

#include <algorithm>
#include <array>
#include <optional>

#include "verify/mask.h"

namespace plov::server {

using log::GroupCommit;
using verify::Bucket;
using verify::BucketKind;
using verify::Logged;

namespace {

// Operations that are written at once.
constexpr size_t kBatchItems = 4096;

// One step of the log's thread, which does not run yet.
std::expected<void, Error> Write(GroupCommit* log) {
  log->PassOn();
  log->Step(true);
  if (log->failure() == Code::kOk) return {};
  return Fail(log->failure(), "what the warm memory holds cannot be logged, and stays there: " +
                                  log->failure_message());
}

// Table and stash, one place after the other.
std::optional<Bucket> BucketAt(cuckoo::GrowingTable* table, uint64_t place) {
  const uint64_t buckets = table->current().geometry().bucket_count;
  if (place < buckets) return table->current().Load(place);
  const uint64_t index = place - buckets;
  return table->stash().At(index) == nullptr ? std::nullopt : table->stash().Load(index);
}

}  // namespace

// The last write may have been killed before it was published, and then it was none.
std::expected<void, Error> Unlogged::Take(const WarmTail& tail, Sessions* sessions) {
  const auto taken = tail.ForEach([this](const WarmTail::Entry& entry) {
    if (entry.version <= logged_) return;
    if (!entry.key.empty()) absent_.push_back({entry.version, std::string(entry.key)});
    if (entry.sequence != 0) writers_.push_back({entry.version, entry.client_id, entry.sequence});
  });
  if (!taken) return taken;
  // The last one may be there twice: as an entry, and as the write that was about to be published.
  std::ranges::sort(writers_, {}, &Writer::version);
  const auto again = std::ranges::unique(writers_, {}, &Writer::version);
  writers_.erase(again.begin(), again.end());
  std::ranges::sort(absent_, {}, &Absent::version);
  for (const Absent& deleted : absent_) {
    store_->Restore({.kind = Logged::Kind::kDelete, .version = deleted.version, .key = deleted.key},
                    0);
  }
  Find();
  if (!writers_.empty() && !IsLogged(writers_.back().version)) writers_.pop_back();
  std::vector<Absent> superseded;
  for (const Writer& writer : writers_) {
    sessions->Restore(Logged{
        .version = writer.version, .client_id = writer.client_id, .sequence = writer.sequence});
    if (!IsLogged(writer.version)) superseded.push_back({writer.version, {}});
  }
  absent_.insert(absent_.end(), superseded.begin(), superseded.end());
  std::ranges::sort(absent_, {}, &Absent::version);
  return {};
}

// With an item, or as a DELETE.
bool Unlogged::IsLogged(uint64_t version) const {
  return std::ranges::binary_search(items_, version, {}, &Item::version) ||
         std::ranges::binary_search(absent_, version, {}, &Absent::version);
}

void Unlogged::Find() {
  cuckoo::GrowingTable* table = store_->table_to_read();
  while (store_->growth().under_way() && store_->growth().OnIdle()) {
  }
  items_.clear();
  const uint64_t places = table->current().geometry().bucket_count + table->stash().end();
  for (uint64_t place = 0; place < places; ++place) {
    const auto bucket = BucketAt(table, place);
    if (!bucket) continue;
    if (bucket->kind() != BucketKind::kReference && bucket->kind() != BucketKind::kInline) continue;
    const uint64_t version = bucket->kind() == BucketKind::kReference
                                 ? bucket->reference().version
                                 : store_->HitOf(*bucket)->item.version();
    if (version > logged_) items_.push_back({version, place});
  }
  std::ranges::sort(items_, {}, &Item::version);
}

const Unlogged::Writer* Unlogged::WriterOf(uint64_t version) const {
  const auto found = std::ranges::lower_bound(writers_, version, {}, &Writer::version);
  return found == writers_.end() || found->version != version ? nullptr : &*found;
}

std::expected<void, Error> Unlogged::Append(Logged operation, GroupCommit* log) const {
  if (const Writer* writer = WriterOf(operation.version)) {
    operation.client_id = writer->client_id;
    operation.sequence = writer->sequence;
  }
  while (!log->HasRoom(verify::LoggedBytes(operation.key.size(), operation.value.size()))) {
    if (auto written = Write(log); !written) return written;
  }
  log->Append(operation);
  return {};
}

std::expected<void, Error> Unlogged::LogItem(const Item& item, GroupCommit* log) const {
  const Bucket bucket =
      *BucketAt(store_->table_to_read(), item.place);  // an inline item lies in it
  const auto hit = store_->HitOf(bucket);
  std::array<char, verify::kKeyBytesMax> key;
  const std::string value = hit->item.value();
  return Append({.version = item.version,
                 .flags = hit->item.flags(),
                 .expiry = hit->item.expiry(),
                 .key = hit->item.CopyKey(key.data()),
                 .value = value},
                log);
}

std::expected<void, Error> Unlogged::LogAbsent(const Absent& absent, GroupCommit* log) const {
  const auto kind = absent.key.empty() ? Logged::Kind::kSuperseded : Logged::Kind::kDelete;
  return Append({.kind = kind, .version = absent.version, .key = absent.key}, log);
}

std::expected<void, Error> Unlogged::Log(GroupCommit* log) const {
  auto item = items_.begin();
  size_t unwritten = 0;
  for (auto absent = absent_.begin(); item != items_.end() || absent != absent_.end();) {
    const bool is_item =
        absent == absent_.end() || (item != items_.end() && item->version < absent->version);
    const auto appended = is_item ? LogItem(*item++, log) : LogAbsent(*absent++, log);
    if (!appended) return appended;
    if (++unwritten < kBatchItems) continue;
    unwritten = 0;
    if (auto written = Write(log); !written) return written;
  }
  if (auto appended = LogAbsent({store_->last_version(), {}}, log); !appended) return appended;
  log->RequestSync();
  while (log->pending()) {
    if (auto written = Write(log); !written) return written;
  }
  return {};
}

}  // namespace plov::server
