// The store against a std::map, through random operations; every few of them everything is read
// back one-sidedly and the accounts are compared.
#include <gtest/gtest.h>

#include <random>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

struct Profile {
  const char* name;
  uint64_t seed;
  uint32_t bucket_bytes;
  uint64_t bucket_count;
  uint64_t key_count;
  size_t value_bytes_max;
  bool expiring;
  bool stashes = false;
};
void PrintTo(const Profile& profile, std::ostream* out) { *out << profile.name; }

class Scribbler {
 public:
  explicit Scribbler(const Profile& profile)
      : profile_(profile), random_(profile.seed), world_(OptionsOf(profile)) {}

  StoreWorld& world() { return world_; }
  const Model& model() const { return model_; }
  uint64_t refused() const { return refused_; }

  // One random operation, on the store and on the model; false when their replies differ.
  ::testing::AssertionResult Step() {
    world_.now_us += random_() % 100'000;
    const std::string key = RandomKey();
    const std::string value = RandomValue();
    Extras extras = RandomExtras(key);
    const bool present = IsPresent(key);
    const uint64_t version = present ? model_[key].version : 0;
    const auto kind = random_() % 10;
    if (kind < 3) extras.flags = extras.ttl_seconds = 0;
    const bool right = !extras.expected_version || *extras.expected_version == version;
    Code expected = Code::kOk;
    if (kind < 3) {  // DELETE
      if (!present) expected = Code::kNotFound;
      if (present && !right) expected = Code::kVersionMismatch;
      return Compare(world_.Delete(key, extras), expected, key, std::nullopt, version);
    }
    if (extras.expected_version && !present) expected = Code::kNotFound;
    if (present && !right) expected = Code::kVersionMismatch;
    if (kind < 4 && present) expected = Code::kExists;
    if (kind == 4 && !present) expected = Code::kNotFound;
    const WriteReply reply = kind < 4    ? world_.Add(key, value, extras)
                             : kind == 4 ? world_.Replace(key, value, extras)
                                         : world_.Put(key, value, extras);
    const Stored stored{value, reply.version, extras.flags,
                        ExpiryAfter(world_.now_us, extras.ttl_seconds)};
    return Compare(reply, expected, key, stored, version);
  }

 private:
  static StoreOptions OptionsOf(const Profile& profile) {
    StoreOptions options = StoreWorld::SmallOptions();
    options.bucket_bytes = profile.bucket_bytes;
    options.bucket_count = profile.bucket_count;
    options.stashes = profile.stashes;
    options.hash_seed = profile.seed;
    return options;
  }

  std::string RandomKey() {
    const uint64_t number = random_() % profile_.key_count;
    std::string key = "k" + std::to_string(number);
    if (number % 5 == 0) key.resize(40 + number % 100, 'x');
    return key;
  }
  std::string RandomValue() {
    if (random_() % 2 == 0) return InlineValue(random_());
    return RecordValue(random_(), 30 + random_() % profile_.value_bytes_max);
  }
  Extras RandomExtras(const std::string& key) {
    Extras extras;
    if (random_() % 3 == 0) extras.flags = static_cast<uint32_t>(random_());
    if (profile_.expiring && random_() % 2 == 0) {
      extras.ttl_seconds = static_cast<uint32_t>(1 + random_() % 20);
    }
    const auto found = model_.find(key);
    if (random_() % 8 == 0) {
      extras.expected_version = found != model_.end() ? found->second.version : random_() % 50;
    } else if (random_() % 8 == 0) {
      extras.expected_version = random_() % 1000;
    }
    return extras;
  }

  uint64_t NowSeconds() { return world_.store().UnixSeconds(world_.now_us); }
  bool IsPresent(const std::string& key) {
    const auto found = model_.find(key);
    return found != model_.end() &&
           (found->second.expiry == 0 || found->second.expiry > NowSeconds());
  }

  // kNoSpace is the store's right, as long as it changes nothing.
  ::testing::AssertionResult Compare(const WriteReply& reply, Code expected, const std::string& key,
                                     const std::optional<Stored>& stored, uint64_t version) {
    if (reply.status == Code::kNoSpace && stored) {
      ++refused_;
      return ::testing::AssertionSuccess();
    }
    if (reply.status != expected) {
      return ::testing::AssertionFailure()
             << key << ": " << CodeName(reply.status) << ", expected " << CodeName(expected);
    }
    const bool tells = expected == Code::kExists || expected == Code::kVersionMismatch ||
                       (expected == Code::kOk && !stored);
    if (tells && reply.version != version) {
      return ::testing::AssertionFailure() << key << ": wrong version in the reply";
    }
    if (expected == Code::kOk && stored) {
      if (reply.version <= last_version_) {
        return ::testing::AssertionFailure() << key << ": the version does not grow";
      }
      last_version_ = reply.version;
      model_[key] = *stored;
    }
    if (expected == Code::kOk && !stored) model_.erase(key);
    return ::testing::AssertionSuccess();
  }

  Profile profile_;
  std::mt19937_64 random_;
  StoreWorld world_;
  Model model_;
  uint64_t last_version_ = 0;
  uint64_t refused_ = 0;
};

class StoreModel : public ::testing::TestWithParam<Profile> {};

TEST_P(StoreModel, RandomOperationsLeaveWhatTheModelSays) {
  Scribbler scribbler(GetParam());
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(scribbler.Step()) << "round " << round;
    ASSERT_TRUE(Holds(&scribbler.world(), scribbler.model())) << "round " << round;
  }
  const Model model = scribbler.model();
  for (const auto& [key, stored] : model) scribbler.world().Delete(key);
  EXPECT_TRUE(Holds(&scribbler.world(), {}));
  EXPECT_EQ(scribbler.world().store().records().allocated_bytes(), 0u);
  EXPECT_EQ(scribbler.world().store().stats().corrupt, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Store, StoreModel,
    ::testing::Values(Profile{"Roomy", 1, 64, 1024, 300, 300, false},
                      Profile{"Expiring", 2, 64, 1024, 300, 300, true},
                      Profile{"TightTable", 3, 64, 256, 300, 300, false},
                      Profile{"TightExpiringTable", 4, 64, 256, 300, 300, true},
                      Profile{"TightMemory", 5, 64, 1024, 300, 150'000, true},
                      Profile{"WideBuckets", 6, 128, 512, 400, 300, true},
                      Profile{"Stash", 7, 64, 64, 200, 300, false, true},
                      Profile{"ExpiringStash", 8, 128, 8, 150, 300, true, true}),
    [](const auto& profile) { return std::string(profile.param.name); });

}  // namespace
}  // namespace plov::server
