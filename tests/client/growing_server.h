// GrowingServer: a server made by hand, of one shard, whose table a test grows step by step.
//
// The memory is real, the fabric is shm, the stores are those of the design's "Growth". The test's
// thread serves: While runs a client on a thread of its own and meanwhile accepts, takes CONFIRMs
// and answers GETs by message. Steps are made between the calls of While, or by the client's thread
// from within its callbacks; messages touch no table.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/rewrites.h"
#include "cuckoo/table.h"
#include "fabric/fabric.h"
#include "fabric/os.h"
#include "tests/support/plovd.h"
#include "verify/superblock.h"

namespace plov::test {

class GrowingServer {
 public:
  static constexpr uint64_t kOldBuckets = 64;
  static constexpr uint64_t kNextBuckets = 256;
  static constexpr int kItems = 52;  // of which some are displaced

  // Puts the items into a first table: half of them inline, half in records.
  GrowingServer();
  ~GrowingServer();

  const std::string& uri() const { return uri_; }
  const std::map<std::string, std::string>& items() const { return items_; }
  std::vector<std::string> keys() const;

  // The steps of a growth, in their order.
  enum class Step { kListNext, kMoveHalf, kMoveRest, kListNextOnly, kRetireHalf, kRetireRest };
  static constexpr std::array kSteps = {Step::kListNext,     Step::kMoveHalf,   Step::kMoveRest,
                                        Step::kListNextOnly, Step::kRetireHalf, Step::kRetireRest};
  static constexpr size_t kStepCount = kSteps.size();
  void Grow(Step step);
  void GrowAll() {
    for (const Step step : kSteps) Grow(step);
  }
  // Finer: one home after the other, between kListNext and kListNextOnly; false when all are moved.
  bool MoveOneHome();

  // Rewrites all buckets of the first table that have a directory, or that have none, as overwrites of their items
  // do.
  void RewriteHomes(bool with_directory);

  // Against the protocol.
  void RetireAll() { RetireUpTo(tables_[0]->geometry().bucket_count); }
  void ForwardAll();
  void TearSuperblock();
  void Publish();         // the same tables once more, as another version
  void PublishForeign();  // as another life's

  // Wipes the old table's memory, as if it were given to others.
  void Reuse();

  // Runs `client` on another thread and serves it.
  void While(const std::function<void()>& client);
  // Closes all connections: at once, or asked for from the client's thread and waited for.
  void CloseAll();
  void AskToCloseAll();

  // With a long timeout where none is given: only a broken client reaches it.
  Client Connect(const ClientOptions& options = {});

  uint64_t version() const { return version_; }
  const std::vector<uint64_t>& confirmed() const { return confirmed_; }
  uint64_t last_confirmed() const { return confirmed_.empty() ? 0 : confirmed_.back(); }
  uint64_t asked() const { return asked_; }
  uint64_t opened() const { return opened_; }

  bool answers = true;  // GETs by message; set it between calls of While

 private:
  void Put(const std::string& key, const std::string& value);
  void MoveHome(uint64_t home);
  void RetireUpTo(uint64_t end);
  void Rewrite(cuckoo::Table* table, uint64_t index,
               const std::function<void(verify::Bucket*)>& change);
  bool Serve();
  void OnMessage(const fabric::PortEvent& event);

  TemporaryFolder folder_;
  std::string uri_;
  fabric::Fd memory_;
  fabric::Mapping region_;
  verify::Superblock superblock_{};
  uint64_t version_ = 0;
  uint64_t item_version_ = 0;
  uint64_t record_end_;
  cuckoo::Rewrites rewrites_;
  std::vector<std::unique_ptr<cuckoo::Table>> tables_;  // old first
  uint64_t moved_homes_ = 0;
  uint64_t retired_ = 0;
  std::map<std::string, std::string> items_;

  std::unique_ptr<fabric::Listener> listener_;
  std::map<fabric::PeerId, uint64_t> peers_;  // and their client ids
  std::vector<uint64_t> confirmed_;
  uint64_t asked_ = 0;
  uint64_t opened_ = 0;
  std::atomic<bool> close_all_ = false;
};

}  // namespace plov::test
