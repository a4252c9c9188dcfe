#include "tests/client/growing_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <stdexcept>
#include <thread>

#include "verify/message.h"
#include "verify/record.h"

namespace plov::test {

using cuckoo::Geometry;
using cuckoo::Table;
using fabric::PortEvent;
using verify::Bucket;

namespace {

constexpr uint64_t kIncarnation = 0x6772'6f77;
constexpr uint64_t kHashSeed = 0x5eed;
constexpr size_t kRegionBytes = 256 << 10;
constexpr uint64_t kOldOffset = verify::kRegionHeadBytes;
constexpr uint64_t kNextOffset = kOldOffset + verify::kPageBytes;
constexpr uint64_t kRecordsOffset = 64 << 10;
constexpr uint32_t kBucketBytes = verify::kBucketBytesMin;

template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

bool IsReadable(int fd) {
  pollfd poll_fd{fd, POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

}  // namespace

GrowingServer::GrowingServer()
    : uri_("shm:" + folder_.path() + "/s"),
      memory_(Must(fabric::CreateMemory("plov-growing", kRegionBytes))),
      region_(Must(fabric::Mapping::Map(memory_.get(), kRegionBytes, PROT_READ | PROT_WRITE))),
      record_end_(kRecordsOffset) {
  superblock_.incarnation = kIncarnation;
  superblock_.hash_seed = kHashSeed;
  superblock_.region_bytes = kRegionBytes;
  superblock_.shard_count = 1;
  superblock_.value_bytes_max = 4096;
  superblock_.tables[0] = {1, kOldOffset, kOldBuckets, kBucketBytes, 0};
  tables_.push_back(std::make_unique<Table>(
      Table::Create(region_.bytes().data(), Geometry::Of(superblock_.tables[0], kIncarnation),
                    kHashSeed, &rewrites_)
          .value()));
  tables_[0]->Format();
  for (int i = 0; i < kItems; ++i) {
    Put("key:" + std::to_string(i), std::string(i % 2 == 0 ? 8 : 100, static_cast<char>('A' + i)));
  }
  Publish();
  listener_ = Must(fabric::Listener::Listen(uri_, {.shards = {{region_.bytes(), memory_.get()}},
                                                   .format_version = verify::kFormatVersion,
                                                   .staging_bytes = 8192}));
}

GrowingServer::~GrowingServer() = default;

std::vector<std::string> GrowingServer::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : items_) keys.push_back(key);
  return keys;
}

void GrowingServer::Put(const std::string& key, const std::string& value) {
  const uint64_t hash = cuckoo::HashKey(key, kHashSeed);
  const verify::ItemView item{key, value, ++item_version_, 0, 0};
  Bucket bucket;
  if (verify::InlineFits(item, kBucketBytes)) {
    bucket.SetInline(item, kBucketBytes);
  } else {
    const size_t bytes = verify::RecordBytes(key.size(), value.size());
    uint64_t* words = verify::WordsAt(region_.bytes().data(), record_end_);
    verify::WriteRecordHead(words, item, value.size());
    verify::WriteRecordValue(words, key.size(), value, item.mask);
    verify::SealRecord(words, bytes, verify::RecordSeed(kIncarnation));
    bucket.SetReference({hash, item.version, record_end_, static_cast<uint32_t>(bytes), 0},
                        kBucketBytes);
    record_end_ += verify::RoundUpToWord(bytes);
  }
  if (!tables_.back()->Insert(hash, bucket)) throw std::runtime_error("the table is full");
  items_[key] = value;
}

void GrowingServer::Publish() {
  superblock_.version = ++version_;
  verify::SealSuperblock(&superblock_);
  verify::StoreSuperblock(verify::WordsAt(region_.bytes().data(), 0), superblock_);
}

void GrowingServer::PublishForeign() {
  superblock_.incarnation ^= 1;
  Publish();
}

void GrowingServer::TearSuperblock() {
  verify::StoreWord(verify::WordsAt(region_.bytes().data(), 0), superblock_.checksum ^ 1);
}

// A shard's own rewrite (W2) of something that Table has no word for.
void GrowingServer::Rewrite(Table* table, uint64_t index,
                            const std::function<void(Bucket*)>& change) {
  const Geometry& geometry = table->geometry();
  Bucket bucket = table->Load(index).value();
  change(&bucket);
  bucket.set_version(bucket.version() + 1);
  bucket.Seal(kBucketBytes, geometry.SeedOf(index));
  verify::StoreBucket(verify::WordsAt(region_.bytes().data(), geometry.BucketOffset(index)), bucket,
                      kBucketBytes);
}

// Forward first; then each key appears in the next table before it goes from the old.
void GrowingServer::MoveHome(uint64_t home) {
  Table& old = *tables_[0];
  Rewrite(&old, home, [](Bucket* bucket) { bucket->set_forward(true); });
  for (const auto& [key, value] : items_) {
    const uint64_t hash = cuckoo::HashKey(key, kHashSeed);
    Table::Slot slot;
    if (cuckoo::HomeOf(hash, kOldBuckets) != home) continue;
    if (old.Find(hash, key, &slot) != Table::FindResult::kFound) continue;
    if (!tables_[1]->Insert(hash, slot.bucket)) throw std::runtime_error("the table is full");
    old.Erase(hash, slot);
  }
}

bool GrowingServer::MoveOneHome() {
  if (moved_homes_ == kOldBuckets) return false;
  MoveHome(moved_homes_++);
  return true;
}

void GrowingServer::RewriteHomes(bool with_directory) {
  for (uint64_t index = 0; index < kOldBuckets; ++index) {
    if (tables_[0]->Load(index).value().has_directory() != with_directory) continue;
    Rewrite(tables_[0].get(), index, [](Bucket*) {});
  }
}

void GrowingServer::ForwardAll() {
  for (uint64_t index = 0; index < kOldBuckets; ++index) {
    Rewrite(tables_[0].get(), index, [](Bucket* bucket) { bucket->set_forward(true); });
  }
}

void GrowingServer::RetireUpTo(uint64_t end) {
  for (; retired_ < end; ++retired_) {
    Rewrite(tables_[0].get(), retired_, [](Bucket* bucket) { bucket->Retire(kBucketBytes); });
  }
}

void GrowingServer::Grow(Step step) {
  switch (step) {
    case Step::kListNext:
      superblock_.tables[1] = {2, kNextOffset, kNextBuckets, kBucketBytes, 0};
      tables_.push_back(std::make_unique<Table>(
          Table::Create(region_.bytes().data(), Geometry::Of(superblock_.tables[1], kIncarnation),
                        kHashSeed, &rewrites_)
              .value()));
      tables_[1]->Format();
      return Publish();
    case Step::kMoveHalf:
      while (moved_homes_ < kOldBuckets / 2) MoveOneHome();
      return;
    case Step::kMoveRest:
      while (MoveOneHome()) continue;
      return;
    case Step::kListNextOnly:
      superblock_.tables = {superblock_.tables[1], verify::TableExtent{}};
      return Publish();
    case Step::kRetireHalf:
      return RetireUpTo(kOldBuckets / 2);
    case Step::kRetireRest:
      return RetireUpTo(kOldBuckets);
  }
}

void GrowingServer::Reuse() {
  const std::vector<std::byte> others(kOldBuckets * kBucketBytes, std::byte{0x5a});
  verify::CopyToShared(verify::WordsAt(region_.bytes().data(), kOldOffset), 0, others.data(),
                       others.size());
}

void GrowingServer::OnMessage(const PortEvent& event) {
  const uint64_t client_id = peers_.at(event.peer);
  auto requests = verify::MessageReader::Open(event.message, client_id,
                                              verify::MessageReader::Holds::kRequests);
  std::vector<std::byte> buffer(32 << 10);
  verify::MessageWriter replies(buffer, client_id);
  while (requests && requests->remaining() > 0) {
    const auto request = requests->NextRequest();
    if (!request) throw std::runtime_error("a request that cannot be read");
    verify::Reply reply;
    reply.request_id = request->request_id;
    if (request->operation == verify::Operation::kConfirm) {
      EXPECT_EQ(request->sequence, 0);
      confirmed_.push_back(request->expected_version);
    } else if (request->operation == verify::Operation::kGet) {
      ++asked_;
      const auto item = items_.find(std::string(request->key));
      reply.status = item == items_.end() ? Code::kNotFound : Code::kOk;
      if (item != items_.end()) reply.value = item->second;
      reply.value_bytes = static_cast<uint32_t>(reply.value.size());
      reply.version = 1;
    }
    replies.Add(reply);
  }
  if (replies.count() > 0) listener_->port(0).Send(event.peer, replies.Finish());
}

// One event, if there is one.
bool GrowingServer::Serve() {
  if (close_all_.load(std::memory_order_acquire)) {
    CloseAll();
    close_all_.store(false, std::memory_order_release);
  }
  if (IsReadable(listener_->fd())) listener_->HandleEvents();
  if (!answers) return false;
  const auto event = listener_->port(0).Poll();
  if (!event) return false;
  switch (event->kind) {
    case PortEvent::Kind::kOpened:
      ++opened_;
      peers_[event->peer] = event->client_id;
      break;
    case PortEvent::Kind::kMessage:
      OnMessage(*event);
      break;
    case PortEvent::Kind::kClosed:
      peers_.erase(event->peer);
      break;
    case PortEvent::Kind::kReadDone:
    case PortEvent::Kind::kProgress:
      break;
  }
  return true;
}

void GrowingServer::While(const std::function<void()>& client) {
  std::atomic<bool> done = false;
  std::thread thread([&] {
    client();
    done.store(true, std::memory_order_release);
  });
  while (!done.load(std::memory_order_acquire)) {
    if (!Serve()) ::sched_yield();
  }
  thread.join();
  while (Serve()) continue;
}

void GrowingServer::CloseAll() {
  while (const auto event = listener_->port(0).Poll()) {
    if (event->kind == PortEvent::Kind::kOpened) peers_[event->peer] = event->client_id;
  }
  for (const auto& [peer, client_id] : peers_) listener_->port(0).Close(peer);
  peers_.clear();
}

void GrowingServer::AskToCloseAll() {
  close_all_.store(true, std::memory_order_release);
  while (close_all_.load(std::memory_order_acquire)) ::sched_yield();
}

Client GrowingServer::Connect(const ClientOptions& options) {
  ClientOptions patient = options;
  if (patient.timeout == ClientOptions().timeout) patient.timeout = std::chrono::seconds(20);
  std::expected<Client, Error> client = Fail(Code::kUnknown, "");
  While([&] { client = Client::Connect(uri_, patient); });
  return Must(std::move(client));
}

}  // namespace plov::test
