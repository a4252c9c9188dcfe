#include "tests/client/late_fabric.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/shm/shm.h"
#include "verify/message.h"
#include "verify/superblock.h"

namespace plov::fabric {

LateFabric& Late() {
  static LateFabric late;
  return late;
}

namespace {

// Polls that a READ takes at most.
constexpr uint32_t kPollsMax = 12;

class LateConnection final : public Connection {
 public:
  LateConnection(std::unique_ptr<Connection> real, const ConnectOptions& options)
      : real_(std::move(real)),
        client_id_(options.client_id),
        reads_oaths_(options.shard == kShardMax),
        made_after_cuts_(Late().cuts) {}

  const Limits& limits() const override { return real_->limits(); }

  // A READ sees the memory as it is now, or as it is when it completes.
  size_t Read(std::span<const ReadOp> batch) override {
    const size_t count = std::min<size_t>(batch.size(), limits().read_depth - flying_.size());
    for (const ReadOp& op : batch.first(count)) {
      const bool superblock = IsSuperblock(op);
      const bool beside = std::ranges::any_of(
          flying_, [&](const Flying& other) { return superblock || IsSuperblock(other.op); });
      if (beside) Late().overlaps.fetch_add(1);
      const bool sees_at_once = random_() % 2 == 0;
      flying_.push_back({op,
                         {},
                         Late().oaths_see_last ? !reads_oaths_ : sees_at_once,
                         static_cast<uint32_t>(random_() % kPollsMax),
                         view_});
      if (flying_.back().early) flying_.back().status = Perform(op);
    }
    return count;
  }

  size_t Poll(std::span<Completion> completions) override {
    size_t count = 0;
    std::shuffle(flying_.begin(), flying_.end(), random_);
    std::erase_if(flying_, [&](Flying& one) {
      if (count == completions.size()) return false;
      bool held = IsSuperblock(one.op) ? !Late().superblocks_complete : !Late().reads_complete;
      if (reads_oaths_) held = held || !Late().oaths_complete;
      if (held && real_->alive()) return false;
      if (Late().on && one.polls_left > 0 && real_->alive()) {
        --one.polls_left;
        Late().late_reads.fetch_add(1);
        return false;
      }
      const Status status = one.early && real_->alive() ? one.status : Perform(one.op);
      completions[count++] = {one.op.tag, status};
      if (IsSuperblock(one.op)) Note(one.op);
      return true;
    });
    return count;
  }

  bool Send(std::span<const std::byte> message) override {
    auto requests =
        verify::MessageReader::Open(message, client_id_, verify::MessageReader::Holds::kRequests);
    while (requests && requests->remaining() > 0) {
      const auto request = requests->NextRequest();
      if (!request) break;
      if (request->operation != verify::Operation::kConfirm) continue;
      const bool hasty = std::ranges::any_of(
          flying_, [&](const Flying& one) { return one.view < request->expected_version; });
      if (hasty) Late().hasty_confirms.fetch_add(1);
    }
    return real_->Send(message);
  }

  std::optional<std::span<const std::byte>> Receive() override {
    const auto message = real_->Receive();
    if (message || !Late().endless_replies) return message;
    verify::MessageWriter replies(reply_, client_id_);
    replies.Add(verify::Reply{.request_id = UINT64_MAX});
    return replies.Finish();
  }
  std::expected<std::span<std::byte>, Error> staging() override {
    const auto staging = real_->staging();
    if (!staging) return staging;
    return staging->first(std::min(staging->size(), Late().staging_bytes.load()));
  }
  bool alive() const override { return real_->alive() && made_after_cuts_ == Late().cuts; }
  int fd() const override { return real_->fd(); }
  bool Arm() override { return flying_.empty() && real_->Arm(); }

 private:
  struct Flying {
    ReadOp op;
    Status status;
    bool early;
    uint32_t polls_left;
    uint64_t view;  // the version of the superblock that had come when it was posted
  };

  static bool IsSuperblock(const ReadOp& op) {
    return op.offset == 0 && op.bytes == sizeof(verify::Superblock);
  }

  void Note(const ReadOp& op) {
    verify::Superblock page;
    std::memcpy(&page, op.to, sizeof(page));
    if (verify::CheckSuperblock(page) == verify::SuperblockState::kWhole) view_ = page.version;
  }

  Status Perform(const ReadOp& op) {
    Completion completion{};
    real_->Read({&op, 1});
    real_->Poll({&completion, 1});
    if (IsSuperblock(op) && Late().torn_superblocks > 0) {
      --Late().torn_superblocks;
      op.to[0] ^= std::byte{1};
    }
    if (IsSuperblock(op) && Late().endless_superblocks) {
      verify::Superblock page;
      std::memcpy(&page, op.to, sizeof(page));
      page.version += ++versions_added_;
      verify::SealSuperblock(&page);
      std::memcpy(op.to, &page, sizeof(page));
    }
    return completion.status;
  }

  std::unique_ptr<Connection> real_;
  std::array<std::byte, 128> reply_;
  uint64_t client_id_;
  bool reads_oaths_;
  uint64_t made_after_cuts_;
  static inline std::atomic<uint64_t> made_ = 0;
  std::mt19937_64 random_{++made_};  // what is early of one may be late of the next
  std::vector<Flying> flying_;
  uint64_t view_ = 0;
  uint64_t versions_added_ = 0;
};

}  // namespace

std::expected<std::unique_ptr<Connection>, Error> Connection::Connect(
    std::string_view uri, const ConnectOptions& options) {
  auto real = shm::Connect(uri == "switch:" ? Late().target : uri, options);
  if (!real) return real;
  return std::make_unique<LateConnection>(std::move(*real), options);
}

std::expected<std::unique_ptr<Listener>, Error> Listener::Listen(std::string_view uri,
                                                                 const ListenOptions& options) {
  return shm::Listen(uri, options);
}

bool Listener::Pins(std::string_view) { return false; }

}  // namespace plov::fabric
