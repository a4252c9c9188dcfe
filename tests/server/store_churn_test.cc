// A store that is full all the time, so that cleaning never rests: nothing is lost, nothing that is
// promised to stay moves, and the accounts end at zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

// More keys than there is memory for.
struct Load {
  size_t value_bytes_max;
  size_t memory_bytes;
  uint64_t key_count;
};
void PrintTo(const Load& load, std::ostream* out) { *out << load.value_bytes_max; }

class Churn {
 public:
  explicit Churn(const Load& load)
      : load_(load), random_(load.value_bytes_max), world_(Options(load)) {}

  StoreWorld& world() { return world_; }
  const Model& model() const { return model_; }
  const std::string& wrong() const { return wrong_; }

  void Step() {
    const auto kind = random_() % 100;
    if (kind < 75) {
      Put();
    } else if (kind < 85) {
      DeleteOne();
    } else if (kind < 89) {
      HoldOne();
    } else if (kind < 93) {
      if (held_.size() > 8 || kind == 92) ReleaseOne();
    } else if (kind < 96) {
      PrepareOne();
    } else if (!prepared_.empty()) {
      FinishOne();
    }
  }

  // What is held is whole where it was, however often its key was written since.
  bool HeldAreIntact() {
    return std::ranges::all_of(held_, [this](const Held& held) {
      const auto item = verify::CheckRecord({world_.memory() + held.offset, held.record_bytes},
                                            world_.view().record_seed);
      return item && item->version() == held.version;
    });
  }

  double Fill() {
    const Memory& memory = world_.store().memory();
    const size_t room = memory.available_bytes() + world_.store().records().used_bytes();
    return static_cast<double>(world_.store().records().allocated_bytes()) /
           static_cast<double>(room);
  }

  void EmptyAll() {
    while (!held_.empty()) ReleaseOne();
    while (!prepared_.empty()) FinishOne();
    while (!model_.empty()) DeleteOne();
  }

 private:
  struct Held {
    uint64_t offset;
    uint32_t record_bytes;
    uint64_t version;
  };
  struct InFlight {
    std::string key, value;
    Store::Writing prepared;
  };

  static StoreOptions Options(const Load& load) {
    StoreOptions options = StoreWorld::SmallOptions();
    options.memory_bytes = load.memory_bytes;
    options.bucket_count = load.key_count * 5 / 4;
    return options;
  }

  std::string RandomKey() { return "key" + std::to_string(random_() % load_.key_count); }
  // Small ones more often: sizes are spread over their logarithm.
  std::string RandomValue() {
    const double exponent = std::uniform_real_distribution<double>(0, 1)(random_);
    const double bytes = std::pow(static_cast<double>(load_.value_bytes_max), exponent);
    std::string value(static_cast<size_t>(bytes), '\0');
    for (char& c : value) c = static_cast<char>(last_++);
    return value;
  }
  verify::Request Announcement(const std::string& key, size_t bytes) {
    verify::Request request = RequestOf(verify::Operation::kPut, key);
    request.rendezvous = true;
    request.value_bytes = static_cast<uint32_t>(bytes);
    return request;
  }
  Model::iterator Any() {
    const auto found = model_.lower_bound(RandomKey());
    return found == model_.end() ? model_.begin() : found;
  }

  void Note(const WriteReply& reply, const std::string& key, const std::string& value) {
    if (reply.status == Code::kOk) {
      model_[key] = {value, reply.version};
    } else if (reply.status == Code::kNoSpace) {
      for (int i = 0; i < 4 && !model_.empty(); ++i) DeleteOne();
    } else {
      wrong_ = "put of " + key;
    }
  }
  void Put() {
    const std::string key = random_() % 2 == 0 && !model_.empty() ? Any()->first : RandomKey();
    const std::string value = RandomValue();
    Note(world_.Put(key, value), key, value);
  }
  void DeleteOne() {
    if (model_.empty()) return;
    const auto any = Any();
    const WriteReply reply = world_.Delete(any->first);
    if (reply.status != Code::kOk || reply.version != any->second.version) {
      wrong_ = "delete of " + any->first;
    }
    model_.erase(any);
  }
  void HoldOne() {
    if (model_.empty()) return;
    const auto hit = world_.store().Get(Any()->first, world_.now_us);
    if (!hit) wrong_ = "get by message";
    if (!hit || hit->record_bytes == 0) return;
    world_.store().Hold(hit->record_offset, hit->record_bytes);
    held_.push_back({hit->record_offset, hit->record_bytes, hit->item.version()});
  }
  void ReleaseOne() {
    if (held_.empty()) return;
    world_.store().Release(held_.front().offset);
    held_.pop_front();
  }
  void PrepareOne() {
    const std::string key = RandomKey(), value = RandomValue();
    const auto prepared =
        PrepareAll(&world_.store(), Announcement(key, value.size()), world_.now_us);
    if (!prepared) return;
    verify::MaskToShared(prepared->place->shared, prepared->place->at,
                         std::as_bytes(std::span(value)), prepared->mask.word());
    prepared_.push_back({key, value, *prepared});
  }
  void FinishOne() {
    const InFlight write = prepared_.front();
    prepared_.pop_front();
    if (random_() % 4 == 0) {
      Abandon(&world_.store(), write.prepared);
      return;
    }
    Note(CommitAll(&world_.store(), write.prepared, Announcement(write.key, write.value.size()),
                   world_.now_us),
         write.key, write.value);
  }

  Load load_;
  std::mt19937_64 random_;
  StoreWorld world_;
  Model model_;
  std::deque<Held> held_;
  std::deque<InFlight> prepared_;
  std::string wrong_;
  uint8_t last_ = 0;
};

class StoreChurn : public ::testing::TestWithParam<Load> {};

// Values of up to a block's sixteenth, and of more: runs beside blocks.
INSTANTIATE_TEST_SUITE_P(Store, StoreChurn,
                         ::testing::Values(Load{2000, 8 * kMiB, 30'000},
                                           Load{15'000, 16 * kMiB, 16'000},
                                           Load{40'000, 16 * kMiB, 10'000}));

TEST_P(StoreChurn, FullStoreLosesNothingAndMovesNothingThatIsPromisedToStay) {
  Churn churn(GetParam());
  Store& store = churn.world().store();
  const size_t room_bytes = store.memory().available_bytes();
  for (int i = 0; store.stats().no_space == 0; ++i) {
    ASSERT_LT(i, 1'000'000) << "never full";
    churn.Step();
  }
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 500; ++i) churn.Step();
    ASSERT_EQ(churn.wrong(), "") << "round " << round;
    ASSERT_TRUE(Holds(&churn.world(), churn.model())) << "round " << round;
    ASSERT_TRUE(churn.HeldAreIntact()) << "round " << round;
    ASSERT_GE(churn.Fill(), 0.85) << "round " << round << ": too empty to be a test";
  }
  EXPECT_GT(store.records().moved_records(), 5000u);
  EXPECT_EQ(store.records().damaged_blocks(), 0u);
  EXPECT_EQ(store.stats().corrupt, 0u);
  churn.EmptyAll();
  EXPECT_EQ(churn.wrong(), "");
  EXPECT_EQ(store.records().allocated_bytes(), 0u);
  EXPECT_EQ(store.records().used_bytes(), 0u);
  EXPECT_EQ(store.memory().available_bytes(), room_bytes);
}

// Full of 900-byte values, of which two thirds are deleted then, but not "k7".
class ChurnDamage : public ::testing::Test {
 protected:
  static StoreOptions Options() {
    StoreOptions options = StoreWorld::SmallOptions();
    options.bucket_count = 32768;
    return options;
  }
  void SetUp() override {
    for (uint64_t i = 0; Put("k" + std::to_string(i), RecordValue(i, 900)); ++i) continue;
    before = world.ReferenceOf("k7");
  }
  bool Put(const std::string& key, const std::string& value) {
    const WriteReply reply = world.Put(key, value);
    if (reply.status == Code::kOk) model[key] = {value, reply.version};
    return reply.status == Code::kOk;
  }
  void ThinAndChurn() {
    for (auto it = model.begin(); it != model.end();) {
      const bool kept = it->first == "k7" || it->second.version % 3 == 1;
      if (!kept) world.Delete(it->first);
      it = kept ? std::next(it) : model.erase(it);
    }
    for (uint64_t i = 0; i < 3000; ++i) {
      Put("churn" + std::to_string(i % 1200), RecordValue(i, 10'000));
    }
    ASSERT_GT(world.store().records().moved_records(), 1000u);
  }

  StoreWorld world{Options()};
  Model model;
  verify::Reference before;
};

// Neither healed nor lost nor taken for another.
TEST_F(ChurnDamage, DamagedRecordStaysDamagedInItsNewPlace) {
  world.Flip(before.offset + 100);
  ThinAndChurn();
  const verify::Reference after = world.ReferenceOf("k7");
  ASSERT_NE(after.offset, before.offset) << "never moved";
  const auto damaged = world.store().Get("k7", world.now_us);
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error(), Code::kCorrupt);
  world.Flip(after.offset + 100);
  EXPECT_TRUE(Holds(&world, model));
}

// A key that cannot be read any more cannot be moved either; its block is left alone.
TEST_F(ChurnDamage, RecordWhoseKeyIsDamagedIsLeftWhereItIs) {
  world.Flip(before.offset + verify::kRecordHeaderBytes);
  ThinAndChurn();
  EXPECT_EQ(world.store().records().damaged_blocks(), 1u);
  EXPECT_EQ(world.ReferenceOf("k7").offset, before.offset);
  world.Flip(before.offset + verify::kRecordHeaderBytes);
  EXPECT_TRUE(Holds(&world, model));
}

// Cleaning has no room for a key that is longer than any.
TEST_F(ChurnDamage, RecordWhoseKeyIsTooLongIsLeftWhereItIs) {
  uint64_t* lengths = verify::WordsAt(world.memory(), before.offset) + 3;
  const uint64_t whole = verify::LoadWord(lengths);
  verify::StoreWord(lengths, uint64_t{4 * verify::kKeyBytesMax} << 32);
  ThinAndChurn();
  EXPECT_EQ(world.store().records().damaged_blocks(), 1u);
  EXPECT_EQ(world.ReferenceOf("k7").offset, before.offset);
  verify::StoreWord(lengths, whole);
  EXPECT_TRUE(Holds(&world, model));
}

}  // namespace
}  // namespace plov::server
