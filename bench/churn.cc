// How much of its memory a store fills with keys and values, first and after much was overwritten,
// and what cleaning costs PUTs. No network: the store alone.
//
//   churn [--memory SIZE]      (256M)
//
// Values of 16 bytes to 16 KiB, as many between 16 and 32 as between 8192 and 16384. Inserts,
// overwrites of Zipf-distributed keys (0.99) with values of other sizes, and deletes until memory
// is full; then twice the memory is written, with a random item deleted whenever it is full; then
// inserts until it is full again. Times are of the processor. Reports, and checks nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/load/clock.h"
#include "server/store.h"
#include "verify/quantity.h"

namespace {

using plov::server::Store;
using plov::server::StoreOptions;
using plov::verify::Operation;

constexpr double kZipf = 0.99;
constexpr double kValueBytesMin = 16, kValueBytesMax = 16384;
// Memory for each bucket of the table: a little less than the mean item takes.
constexpr size_t kBytesPerBucket = 2048;

class Churn {
 public:
  Churn(std::unique_ptr<Store> store, size_t memory_bytes)
      : store_(std::move(store)), memory_bytes_(memory_bytes), noise_(1 << 16, '\0') {
    for (char& c : noise_) c = static_cast<char>(random_());
  }

  // Fails when the store answers anything but "stored" or "full".
  bool Run() {
    bool full = false;
    while (!full && sound_) {
      const auto kind = random_() % 100;
      if (kind < 5) {
        DeleteOne();
      } else {
        full = !Put(kind < 65 || keys_.empty() ? NewKey() : PopularKey());
      }
    }
    Report("full first");
    const uint64_t until = written_bytes_ + 2 * memory_bytes_;
    while (written_bytes_ < until && sound_) {
      const auto kind = random_() % 100;
      if (kind < 10) {
        DeleteOne();
      } else if (!Put(kind < 25 || keys_.empty() ? NewKey() : PopularKey())) {
        DeleteOne();
      }
    }
    Report("after churn");
    while (sound_ && Put(NewKey())) continue;
    Report("full again");
    return sound_;
  }

 private:
  uint64_t NewKey() { return next_key_++; }
  // The inverse of the distribution as if ranks were real numbers: close enough.
  uint64_t PopularKey() {
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    const double top = std::pow(static_cast<double>(keys_.size()), 1 - kZipf) - 1;
    const double rank = std::pow(top * u + 1, 1 / (1 - kZipf)) - 1;
    return keys_[std::min(static_cast<size_t>(rank), keys_.size() - 1)];
  }
  std::string_view NextValue() {
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    const double bytes = kValueBytesMin * std::pow(kValueBytesMax / kValueBytesMin, u);
    return std::string_view(noise_).substr(random_() % 1024, static_cast<size_t>(bytes));
  }

  bool Put(uint64_t number) {
    const bool is_new = number + 1 == next_key_;
    const std::string key = "churn:" + std::to_string(number);
    plov::verify::Request request;
    request.operation = Operation::kPut;
    request.key = key;
    request.value = NextValue();
    request.value_bytes = static_cast<uint32_t>(request.value.size());
    const int64_t start_ns = plov::bench::ThreadCpuNs();
    const auto status = store_->Write(request, 1).status;
    took_ns_.push_back(static_cast<uint32_t>(plov::bench::ThreadCpuNs() - start_ns));
    if (status == plov::Code::kNoSpace) return false;
    sound_ &= status == plov::Code::kOk;
    written_bytes_ += key.size() + request.value.size();
    if (is_new) keys_.push_back(number);
    return true;
  }
  void DeleteOne() {
    if (keys_.empty()) return;
    std::swap(keys_[random_() % keys_.size()], keys_.back());
    const std::string key = "churn:" + std::to_string(keys_.back());
    keys_.pop_back();
    plov::verify::Request request;
    request.operation = Operation::kDelete;
    request.key = key;
    sound_ &= store_->Delete(request, 1).status == plov::Code::kOk;
  }

  // What happened since the last report.
  void Report(const char* when) {
    const auto& records = store_->records();
    const auto payload = static_cast<double>(store_->stats().payload_bytes);
    const auto puts = static_cast<double>(took_ns_.size());
    double total_ns = 0;
    for (const uint32_t ns : took_ns_) total_ns += ns;
    const auto slow = took_ns_.begin() + static_cast<ptrdiff_t>(puts * 0.999);
    std::nth_element(took_ns_.begin(), slow, took_ns_.end());
    const uint32_t slowest_ns = *std::max_element(slow, took_ns_.end());
    const uint64_t moved = records.moved_records() - std::exchange(moved_, records.moved_records());
    std::printf(
        "%-12s payload %5.1f %% of memory, %5.1f %% of the records' memory;"
        " %9.0f PUTs, %7.0f /s, %5.2f moved each, 99.9 %% in %6.1f us, all in %8.1f us\n",
        when, 100 * payload / static_cast<double>(memory_bytes_),
        100 * payload / static_cast<double>(records.used_bytes()), puts, puts / total_ns * 1e9,
        static_cast<double>(moved) / puts, *slow / 1e3, slowest_ns / 1e3);
    took_ns_.clear();
  }

  std::unique_ptr<Store> store_;
  size_t memory_bytes_;
  std::mt19937_64 random_{1};
  std::string noise_;
  std::vector<uint64_t> keys_;
  uint64_t next_key_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t moved_ = 0;
  std::vector<uint32_t> took_ns_;
  bool sound_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  const bool has_memory = argc == 3 && std::strcmp(argv[1], "--memory") == 0;
  const auto memory = plov::ParseSize(has_memory ? argv[2] : "256M");
  if ((argc != 1 && !has_memory) || !memory) {
    std::fprintf(stderr, "usage: churn [--memory SIZE]\n");
    return 2;
  }
  StoreOptions options;
  options.memory_bytes = *memory;
  options.bucket_count = *memory / kBytesPerBucket;
  auto store = Store::Create(options);
  if (!store) {
    std::fprintf(stderr, "churn: %s\n", store.error().message.c_str());
    return 3;
  }
  return Churn(std::move(*store), *memory).Run() ? 0 : 3;
}
