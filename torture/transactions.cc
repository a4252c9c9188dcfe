#include "torture/transactions.h"

#include <algorithm>
#include <utility>

#include "torture/outcome.h"
#include "torture/value.h"

namespace plov::torture {

namespace {

constexpr size_t kWritesMax = 6;
constexpr size_t kSnapshotMax = 16;
// One key in so many is hot.
constexpr size_t kHotOneIn = 4;
// Those of all keys together stay below what a commit may hold.
constexpr uint64_t kRecordBytesMax = 400;
constexpr uint64_t kInlineBytes = 9;  // sizes from the smallest on that lie in a bucket

// Names, and values, of the items of a commit as it is called.
struct Called {
  std::vector<KeyName> names;
  std::vector<std::string> values;
  std::vector<CommitRead> reads;
  std::vector<CommitWrite> writes;
};

}  // namespace

KeyName TransactionKeyName(uint32_t run, uint32_t history, uint32_t key) {
  return {run, history, kFirstTransactionKey + key};
}

uint64_t SealedTransactionKey(uint32_t history, uint32_t key) {
  return SealedKey(history, kFirstTransactionKey + key);
}

// Of keys that a server takes not together a commit is refused before it is sent: with a log those of two shards.
KeyGroups GroupTransactionKeys(Client* client, uint32_t run, uint32_t history) {
  KeyGroups groups;
  const bool is_one = client->shard_count() == 1;
  for (uint32_t key = 0; key < kTransactionKeys; ++key) {
    const KeyName name = TransactionKeyName(run, history, key);
    const auto is_of = [&](const std::vector<uint32_t>& group) {
      const KeyName first = TransactionKeyName(run, history, group.front());
      const CommitRead reads[] = {{first.view(), 0}, {name.view(), 0}};
      const auto answer = client->Commit(reads, {});
      return answer || answer.error().code != Code::kInvalidArgument;
    };
    const auto of = is_one ? groups.begin() : std::find_if(groups.begin(), groups.end(), is_of);
    if (of == groups.end()) {
      groups.push_back({key});
    } else {
      of->push_back(key);
    }
  }
  return groups;
}

// That so many keys are all of one shard by chance does not happen.
bool AreTransactionsOverShards(Client* client, uint32_t run) {
  return client->shard_count() > 1 && GroupTransactionKeys(client, run, 0).size() == 1;
}

std::expected<TransactionItem, std::string> FoundItem(uint32_t history, uint32_t key,
                                                      const std::optional<Item>& found) {
  TransactionItem item{.key = key};
  if (!found) return item;
  const auto value = ReadValue(found->value, SealedTransactionKey(history, key));
  if (!value) {
    return std::unexpected("a read of transaction key " + std::to_string(key) +
                           " returned bytes that no PUT wrote: version " +
                           std::to_string(found->version) + ": " + value.error());
  }
  item.value = *value;
  item.version = found->version;
  return item;
}

Transactions::Transactions(const Plan& plan, uint32_t process, TransactionRing* ring,
                           ClientReport* report)
    : run_(plan.run),
      process_(process),
      value_bytes_max_(std::clamp<uint64_t>(plan.value_bytes_max, kValueBytesMin, kRecordBytesMax)),
      ring_(ring),
      report_(report),
      random_(plan.seed + 5 * ~uint64_t{process}) {}

void Transactions::Begin(Client* client, uint32_t history) {
  client_ = client;
  if (history_ != history) groups_ = GroupTransactionKeys(client, run_, history);
  history_ = history;
  group_ = static_cast<uint32_t>(random_.Below(groups_.size()));
}

std::optional<std::string> Transactions::Step(Client* client, uint32_t history, Writes writes) {
  Begin(client, history);
  const uint64_t drawn = random_.Below(100);
  if (drawn < 15) return Get(DrawKeys(1, 1).front(), nullptr);
  if (drawn < 35) return TakeSnapshot(DrawKeys(2, kSnapshotMax), nullptr);
  if (drawn < 45) return Put();
  if (drawn < 55) return GetInTurn();
  return Transact(writes);
}

std::optional<std::string> Transactions::Snapshot(Client* client, uint32_t history) {
  Begin(client, history);
  return TakeSnapshot(DrawKeys(2, kSnapshotMax), nullptr);
}

// Different ones, of the step's group, as many as it has at most.
std::vector<uint32_t> Transactions::DrawKeys(size_t least, size_t most) {
  std::vector<uint32_t> left = groups_[group_];
  const size_t hot = std::max<size_t>(1, left.size() / kHotOneIn);
  const size_t count = std::min(left.size(), least + random_.Below(most - least + 1));
  std::vector<uint32_t> drawn;
  while (drawn.size() < count) {
    const size_t among = random_.Below(2) == 0 ? std::min(hot, left.size()) : left.size();
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(random_.Below(among));
    drawn.push_back(*at);
    left.erase(at);
  }
  return drawn;
}

TransactionItem Transactions::DrawPut(uint32_t key) {
  return {.value = MakeValueId(process_, ++sequence_), .key = key, .use = ItemUse::kPut};
}

TransactionRecord& Transactions::Next(TransactionKind kind) {
  TransactionRecord& record = ring_->Next(0);
  record = {.process = process_, .group = group_, .kind = kind};
  return record;
}

void Transactions::Issue(TransactionRecord* record) {
  record->start = Now();
  ring_->Issue(1);
}

void Transactions::Finish(const std::optional<Error>& error, TransactionRecord* record) {
  record->end = Now();
  record->outcome = error ? OutcomeOf(error->code) : Outcome::kOk;
  if (error) report_->counts[IndexOf(error->code)].fetch_add(1, std::memory_order_relaxed);
  ring_->Finish(Now());
}

// found: what it was is added there.
Transactions::Wrong Transactions::Get(uint32_t key, Items* found) {
  TransactionRecord& record = Next(TransactionKind::kGet);
  record.Add({.key = key});
  const KeyName name = TransactionKeyName(run_, *history_, key);
  Issue(&record);
  const auto got = client_->Get(name.view());
  if (!got) {
    Finish(got.error(), &record);
    return std::nullopt;
  }
  const auto item = FoundItem(*history_, key, *got);
  if (item) record.items[0] = *item;
  Finish(item ? std::nullopt : std::optional(Error{Code::kCorrupt, item.error()}), &record);
  if (!item) return item.error();
  if (found != nullptr) found->push_back(*item);
  return std::nullopt;
}

Transactions::Wrong Transactions::TakeSnapshot(const std::vector<uint32_t>& keys, Items* found) {
  TransactionRecord& record = Next(TransactionKind::kSnapshot);
  std::vector<KeyName> names;
  for (const uint32_t key : keys) {
    record.Add({.key = key});
    names.push_back(TransactionKeyName(run_, *history_, key));
  }
  std::vector<std::string_view> views;
  for (const KeyName& name : names) views.push_back(name.view());
  Issue(&record);
  const auto got = client_->Snapshot(views);
  if (!got) {
    Finish(got.error(), &record);
    return std::nullopt;
  }
  Wrong wrong;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto item = FoundItem(*history_, keys[i], (*got)[i]);
    if (item) record.items[i] = *item;
    if (!item) wrong = item.error();
  }
  Finish(wrong ? std::optional(Error{Code::kCorrupt, *wrong}) : std::nullopt, &record);
  if (found != nullptr && !wrong) {
    found->assign(record.all().begin(), record.all().end());
  }
  return wrong;
}

// The first and the last that a commit of all keys writes. They always lie in their buckets.
Transactions::Pair Transactions::FarKeys() const {
  return {groups_[group_].front(), groups_[group_].back()};
}

// So fast that they come between two writes of a commit, if there is anything between them.
Transactions::Wrong Transactions::GetInTurn() {
  const Pair keys = FarKeys();
  Wrong wrong;
  for (size_t i = 0; i < kGetsInTurn && !wrong; ++i) wrong = Get(keys[i % keys.size()], nullptr);
  return wrong;
}

Transactions::Wrong Transactions::Put() {
  TransactionRecord& record = Next(TransactionKind::kPut);
  const uint32_t key = DrawKeys(1, 1).front();
  record.Add(DrawPut(key));
  const KeyName name = TransactionKeyName(run_, *history_, key);
  const std::string value = ValueOf(record.items[0]);
  Issue(&record);
  const auto put = client_->Put(name.view(), value);
  if (put) record.version = *put;
  Finish(put ? std::nullopt : std::optional(put.error()), &record);
  return std::nullopt;
}

// Most lie in a bucket or in a record of their own.
std::string Transactions::ValueOf(const TransactionItem& put) {
  const uint64_t range = value_bytes_max_ - kValueBytesMin + 1;
  const Pair far = FarKeys();
  const bool is_inline = put.key == far[0] || put.key == far[1] || random_.Below(2) == 0;
  const uint64_t spread = is_inline ? std::min(kInlineBytes, range) : range;
  std::string value(kValueBytesMin + random_.Below(spread), '\0');
  WriteValue(put.value, SealedTransactionKey(*history_, put.key), value);
  return value;
}

Transactions::Wrong Transactions::Transact(Writes writes) {
  Items reads;
  Wrong wrong;
  const uint64_t drawn = random_.Below(10);
  if (drawn < 4) {
    wrong = TakeSnapshot(DrawKeys(2, kReadsMax), &reads);
  } else if (drawn < 7) {
    for (const uint32_t key : DrawKeys(1, kReadsMax)) {
      if (!wrong) wrong = Get(key, &reads);
    }
  }
  if (wrong) return wrong;
  TransactionRecord& record = Next(TransactionKind::kCommit);
  for (TransactionItem read : reads) {
    read.value = kForeign;  // it rests on the version
    record.Add(read);
  }
  // So many writes that what comes between the first and the last is wide.
  if (reads.empty() && random_.Below(2) == 0) {
    for (const uint32_t key : groups_[group_]) record.Add(DrawPut(key));
    return Commit(&record);
  }
  // One in so many only asks whether its reads stand.
  if (reads.empty() || random_.Below(8) != 0) AddWrites(reads, writes, &record);
  return Commit(&record);
}

// Of keys that it has read, and of others; now and then one key twice.
void Transactions::AddWrites(const Items& reads, Writes writes, TransactionRecord* record) {
  const size_t count = 1 + random_.Below(kWritesMax);
  const std::vector<uint32_t> others = DrawKeys(count, count);
  for (size_t i = 0; i < count; ++i) {
    const bool of_read = !reads.empty() && random_.Below(2) == 0;
    const uint32_t key =
        of_read ? reads[random_.Below(reads.size())].key : others[i % others.size()];
    if (writes == Writes::kPutsAndDeletes && random_.Below(5) == 0) {
      record->Add({.key = key, .use = ItemUse::kDelete});
    } else {
      record->Add(DrawPut(key));
    }
  }
}

Transactions::Wrong Transactions::Commit(TransactionRecord* record) {
  Called called;
  called.names.reserve(record->count);
  called.values.reserve(record->count);
  for (const TransactionItem& item : record->all()) {
    called.names.push_back(TransactionKeyName(run_, *history_, item.key));
    const std::string_view key = called.names.back().view();
    if (item.use == ItemUse::kPut) {
      called.values.push_back(ValueOf(item));
      called.writes.push_back({.key = key, .value = called.values.back()});
    } else if (item.use == ItemUse::kDelete) {
      called.writes.push_back({.key = key, .value = std::nullopt});
    } else {
      called.reads.push_back({key, item.version});
    }
  }
  Issue(record);
  const auto committed = client_->Commit(called.reads, called.writes);
  if (committed) record->version = *committed;
  Finish(committed ? std::nullopt : std::optional(committed.error()), record);
  if (committed || committed.error().code != Code::kInvalidArgument) return std::nullopt;
  return "a commit of keys of one group ended with " + committed.error().message;
}

}  // namespace plov::torture
