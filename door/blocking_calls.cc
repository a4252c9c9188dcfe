#include "door/blocking_calls.h"

#include <chrono>

namespace plov::door {

namespace {

// Commands that come one after the other find the Client connected.
constexpr std::chrono::seconds kIdle{1};

}  // namespace

BlockingCalls::~BlockingCalls() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BlockingCalls::Add(Call call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  changed_.notify_one();
}

void BlockingCalls::Make(Call* call, std::optional<Client>* client) const {
  if (!*client) {
    auto connected = Client::Connect(server_, options_);
    if (!connected) return (*call)(std::unexpected(connected.error()));
    client->emplace(std::move(*connected));
  }
  (*call)(&**client);
}

void BlockingCalls::Run() {
  std::optional<Client> client;
  bool is_idle = true;
  std::unique_lock lock(mutex_);
  const auto is_awake = [this] { return is_stopping_ || !calls_.empty(); };
  while (true) {
    if (!is_idle && !changed_.wait_for(lock, kIdle, is_awake)) {
      lock.unlock();
      client.reset();
      is_idle = !on_idle_();
      lock.lock();
      continue;
    }
    changed_.wait(lock, is_awake);
    if (is_stopping_) return;
    Call call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    Make(&call, &client);
    call = {};
    is_idle = false;
    lock.lock();
  }
}

}  // namespace plov::door
