#include "door/redis/key_walks.h"

#include <algorithm>
#include <string>
#include <utility>

namespace plov::door::redis {

namespace {

// How long SCANs go on in one index: so walks take a tenth of the time at the most, and what an index tells is
// no older than that.
constexpr std::chrono::seconds kUsefulLeast{10};
constexpr int kUsefulWalks = 10;
constexpr uint64_t kItemsPerLook = 1024;

Error NoMemory() {
  return {Code::kNoSpace, "no memory for the names of the items: see --memory of plov-door"};
}

Error NotAll() {
  return {Code::kInvalidArgument,
          "the names of all items need more than a quarter of --memory: use SCAN"};
}

Error Unreadable(uint64_t count) {
  return {Code::kCorrupt,
          std::to_string(count) + " items of the server cannot be read, see plov stats"};
}

Error HasGone() { return {Code::kUnavailable, "the client has gone"}; }

bool IsAbandoned(const KeyWalks::Job& job) {
  return job.abandoned->load(std::memory_order_relaxed);
}

}  // namespace

void KeyWalks::Ask(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (std::exchange(is_walk_due_, true)) return;
  }
  AddWalk();
}

void KeyWalks::AskFirst(std::vector<Job> jobs) {
  {
    const std::lock_guard lock(mutex_);
    for (Job& job : jobs_) jobs.push_back(std::move(job));
    jobs_.swap(jobs);
    if (std::exchange(is_walk_due_, true)) return;
  }
  AddWalk();
}

void KeyWalks::AddWalk() {
  calls_.Add([this](std::expected<Client*, Error> client) { Walk(std::move(client)); });
}

KeyWalks::Index KeyWalks::Last(uint64_t position) {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || !last_->Has(position) || Clock::now() > useful_to_) return nullptr;
  return last_;
}

// Those of clients that have gone end here.
std::vector<KeyWalks::Job> KeyWalks::TakeJobs() {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    is_walk_due_ = false;
    jobs.swap(jobs_);
  }
  std::vector<Job> wanted;
  for (Job& job : jobs) {
    if (IsAbandoned(job)) {
      job.done(std::unexpected(HasGone()));
    } else {
      wanted.push_back(std::move(job));
    }
  }
  return wanted;
}

bool KeyWalks::MayStop(const std::vector<Job>& jobs) const {
  return is_stopping_.load(std::memory_order_relaxed) || std::ranges::all_of(jobs, IsAbandoned);
}

// Mostly an index has all. Where memory does not suffice for that, the job that has waited longest decides.
uint64_t KeyWalks::FirstPosition(const Job& oldest) const {
  return oldest.wants_all || oldest.position < reached_ ? 0 : oldest.position;
}

std::expected<KeyWalks::Index, Error> KeyWalks::Build(Client* client,
                                                      const std::vector<Job>& jobs) {
  const auto index = std::make_shared<KeyIndex>(FirstPosition(jobs.front()), budget_);
  uint64_t items = 0;
  bool has_memory = true;
  bool is_wanted = true;
  const auto scanned = client->Scan([&](std::string_view key, const Item&) {
    if (++items % kItemsPerLook == 0) is_wanted = !MayStop(jobs);
    has_memory = has_memory && index->Add(key);
    return has_memory && is_wanted;
  });
  if (!scanned) return std::unexpected(scanned.error());
  if (!is_wanted) return std::unexpected(HasGone());
  if (!has_memory) return std::unexpected(NoMemory());
  if (scanned->unreadable > 0) return std::unexpected(Unreadable(scanned->unreadable));
  index->Finish();
  return index;
}

void KeyWalks::Publish(const Index& index, Clock::time_point began_at) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  last_ = index;
  useful_to_ = now + std::max<Clock::duration>(kUsefulLeast, (now - began_at) * kUsefulWalks);
}

// Whether there is still one.
bool KeyWalks::Age() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() > useful_to_) last_.reset();
  return last_ != nullptr;
}

// Jobs that the index does not suffice for are the first ones of the next walk.
void KeyWalks::Give(std::vector<Job>* jobs, const std::expected<Index, Error>& index) {
  const auto has_what_is_wanted = [&index](const Job& job) {
    return job.wants_all ? (*index)->has_all() : (*index)->Has(job.position);
  };
  std::vector<Job> left;
  for (Job& job : *jobs) {
    if (!index || has_what_is_wanted(job)) {
      job.done(index);
    } else if (job.wants_all && (*index)->from() == 0) {
      job.done(std::unexpected(NotAll()));
    } else {
      left.push_back(std::move(job));
    }
  }
  if (!left.empty()) AskFirst(std::move(left));
}

void KeyWalks::Walk(std::expected<Client*, Error> client) {
  std::vector<Job> jobs = TakeJobs();
  if (jobs.empty()) return;
  const auto began_at = Clock::now();
  const auto index = client ? Build(*client, jobs) : std::unexpected(client.error());
  if (index) {
    if ((*index)->from() == 0) reached_ = (*index)->to();
    Publish(*index, began_at);
  }
  Give(&jobs, index);
}

}  // namespace plov::door::redis
