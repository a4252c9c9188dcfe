#include "tests/sim/exhaustive.h"

#include <fmt/format.h>
#include <plov/client.h>

#include <optional>

#include "tests/sim/fiber.h"
#include "tests/sim/server_process.h"
#include "tests/sim/virtual_host.h"
#include "torture/value.h"

namespace plov::sim {

uint32_t Choices::Choose(uint32_t count) {
  if (at_ == path_.size()) path_.push_back({0, count});
  return path_[at_++].taken;
}

bool Choices::Advance() {
  path_.resize(at_);
  at_ = 0;
  while (!path_.empty() && ++path_.back().taken == path_.back().count) path_.pop_back();
  return !path_.empty();
}

namespace {

Scenario ScenarioOf(const Case& what) {
  Scenario scenario;
  scenario.bucket_count = 8;
  scenario.memory_bytes = size_t{64} << 10;
  scenario.value_bytes_max = 1024;
  scenario.network.cut = what.cut;
  scenario.network.retransmit_one_in = 0;
  return scenario;
}

std::string KeyOf(uint32_t item) { return fmt::format("item{}", item); }

// One interleaving.
class Tiny {
 public:
  Tiny(const Case& what, Choices* choices, CaseResult* result)
      : what_(what),
        choices_(choices),
        result_(result),
        host_(what.seed),
        random_(what.seed),
        scenario_(ScenarioOf(what)),
        network_(&host_, &random_, scenario_.network),
        server_(scenario_, &network_, 0, HostClock{}, ""),
        value_(what.value_bytes, '\0'),
        fiber_([this] { Live(); }) {
    server_.Begin(
        {.value_bytes_max = scenario_.value_bytes_max, .bucket_count = scenario_.bucket_count});
    server_.Listen();
    for (uint32_t i = 0; i < what_.items; ++i) {
      torture::WriteValue(i + 1, i, value_);
      is_full_ = server_.Put(KeyOf(i), value_) == 0;
    }
    while (!client_) {
      Deliver();
      server_.Turn();
      fiber_.Resume();
    }
  }
  ~Tiny() {
    verify::store_observer = nullptr;
    is_over_ = true;
    fiber_.Resume();
  }

  void Run() {
    key_ = what_.same_key ? written() : 0;
    key_text_ = KeyOf(key_);
    if (what_.known) {
      Start();
      while (!ended_) Progress();
      ended_ = false;
    }
    Start();
    Offer();
    verify::store_observer = [this](verify::Store, const uint64_t*) {
      ++stores_;
      Offer();
    };
    const uint64_t moves = server_.store().table().stats().moves;
    const bool stored = Write();
    verify::store_observer = nullptr;
    while (!ended_) Progress();
    HistoryChecker(stored);
    result_->stores = stores_;
    result_->displacements = server_.store().table().stats().moves - moves;
    result_->torn += Torn();
    ++(got_ ? result_->hits : result_->misses);
    ++result_->interleavings;
  }

 private:
  uint32_t written() const {
    return what_.write == Case::Write::kPutNew ? what_.items : what_.items - 1;
  }

  bool Write() {
    if (what_.write == Case::Write::kDelete) return server_.Delete(KeyOf(written()));
    torture::WriteValue(kNewValue, written(), value_);
    return server_.Put(KeyOf(written()), value_) != 0;
  }

  // The client: each turn is a Poll.
  void Live() {
    auto client =
        Client::Connect("sim:", {.location_cache_bytes = what_.known ? 1024u : 0u, .window = 1});
    client_.emplace(std::move(client.value()));
    while (!is_over_) {
      Fiber::Rest();
      client_->Poll();
    }
    client_.reset();
  }

  void Start() {
    client_->StartGet(key_text_, [this](Client::GetResult result) {
      ended_ = true;
      got_.reset();
      if (!result) {
        error_ = result.error().message;
      } else if (*result) {
        got_ = torture::ReadValue((*result)->value, key_).value_or(torture::kForeign);
      }
    });
    fiber_.Resume();
  }

  // Any number of steps of the GET, until it READs once more what it has just found torn: nothing
  // has changed since.
  void Offer() {
    const uint64_t torn = Torn();
    while (!ended_ && Torn() == torn && steps_ < what_.steps && choices_->Choose(2) == 1) {
      Progress();
      ++steps_;
    }
  }

  uint64_t Torn() const {
    const ClientStats stats = client_->stats();
    return stats.torn_buckets + stats.torn_records;
  }

  // A piece; a READ whose pieces are all there completes at once, and a rest before the next one
  // takes no time.
  void Progress() {
    Deliver();
    fiber_.Resume();
    for (; !ended_ && network_.flights() == 0; fiber_.Resume()) host_.Pass(kRestUs);
  }

  void Deliver() {
    if (network_.flights() > 0) network_.Deliver(0);
    if (network_.is_read(0)) network_.Deliver(0);
  }

  void HistoryChecker(bool stored) {
    const bool was_there = key_ < what_.items && !(is_full_ && key_ + 1 == what_.items);
    const std::optional<uint64_t> before =
        was_there ? std::optional<uint64_t>(key_ + 1) : std::nullopt;
    std::optional<uint64_t> after = before;
    if (what_.same_key && stored) {
      after =
          what_.write == Case::Write::kDelete ? std::nullopt : std::optional<uint64_t>(kNewValue);
    }
    if (error_.empty() && (got_ == before || got_ == after)) return;
    result_->verdict =
        fmt::format("interleaving {}: a GET of {} came to {}, where {} was before and {} after {}",
                    result_->interleavings, key_text_, got_.value_or(0), before.value_or(0),
                    after.value_or(0), error_);
  }

  static constexpr uint64_t kNewValue = 1000;
  static constexpr uint64_t kRestUs = 50;

  Case what_;
  Choices* choices_;
  CaseResult* result_;
  VirtualHost host_;
  Random random_;
  Scenario scenario_;
  Network network_;
  ServerProcess server_;
  std::optional<Client> client_;
  std::string value_;
  std::string key_text_;
  std::string error_;
  std::optional<uint64_t> got_;
  uint64_t stores_ = 0;
  uint32_t steps_ = 0;
  uint32_t key_ = 0;
  bool is_full_ = false;
  bool ended_ = false;
  bool is_over_ = false;
  Fiber fiber_;  // last: it uses all of the above
};

}  // namespace

CaseResult RunCase(const Case& what) {
  CaseResult result;
  Choices choices;
  do {
    Tiny(what, &choices, &result).Run();
  } while (result.verdict.empty() && choices.Advance());
  return result;
}

}  // namespace plov::sim
