#include "door/service.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "door/memcached/memcached_protocol.h"
#include "door/memcached/stats.h"
#include "door/place.h"
#include "door/redis/info.h"
#include "door/redis/redis_protocol.h"

namespace plov::door {

namespace {

// What a stop waits for: requests that a server has not answered, and clients that do not read.
constexpr std::chrono::milliseconds kStopLongest{2000};

// Of calls that a stop waits for as well.
ClientOptions BlockingOptions(const Options& options) {
  return {.timeout = std::min<std::chrono::microseconds>(options.timeout, kStopLongest)};
}

size_t ThreadsOf(const Options& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Service::Service(const Options& options, std::unique_ptr<memcached::Users> users)
    : options_(options),
      started_at_(std::chrono::steady_clock::now()),
      budget_(options.memory_bytes),
      admission_(options.clients_max),
      base_(event_base_new(), event_base_free),
      users_(std::move(users)),
      walks_(options.server, BlockingOptions(options), &budget_),
      calls_(options.server, BlockingOptions(options)),
      memcached_(std::make_unique<memcached::MemcachedFactory>(memcached::ProtocolOptions{
          .item_bytes_max = options.item_bytes_max,
          .stats =
              [this](std::string_view argument) { return memcached::StatsOf(argument, totals()); },
          .users = users_.get()})),
      redis_(std::make_unique<redis::RedisFactory>(redis::RedisOptions{
          .item_bytes_max = options.item_bytes_max,
          .timeout = options.timeout,
          .is_cluster = options.server.starts_with("cluster:"),
          .info = [this](std::string_view section) { return redis::InfoText(section, totals()); },
          .walks = &walks_,
          .calls = &calls_})) {}

std::expected<std::unique_ptr<Service>, Error> Service::Create(const Options& options) {
  std::unique_ptr<memcached::Users> users;
  if (!options.memcached_auth_file.empty()) {
    auto read = memcached::Users::Of(options.memcached_auth_file);
    if (!read) return std::unexpected(read.error());
    users = std::move(*read);
  }
  std::unique_ptr<Service> service(new Service(options, std::move(users)));
  if (service->base_ == nullptr) return Fail(Code::kSystem, "cannot create an event loop");
  if (auto connected = service->Connect(); !connected) return std::unexpected(connected.error());
  for (const auto& [places, factory] : {std::pair(&options.memcached, service->memcached_.get()),
                                        std::pair(&options.redis, service->redis_.get())}) {
    if (auto listens = service->Listen(*places, factory); !listens) {
      return std::unexpected(listens.error());
    }
  }
  for (const auto& worker : service->workers_) worker->Begin();
  return service;
}

Service::~Service() {
  listeners_.clear();
  for (const auto& worker : workers_) worker->Stop(kStopLongest);
  workers_.clear();  // waits for their threads
  for (const auto* places : {&options_.memcached, &options_.redis}) {
    for (const std::string& place : *places) {
      if (place.find('/') != std::string::npos) ::unlink(place.c_str());
    }
  }
}

std::expected<void, Error> Service::Connect() {
  const ClientOptions client{.timeout = options_.timeout};
  for (size_t i = 0; i < ThreadsOf(options_); ++i) {
    auto worker = Worker::Create(options_.server, client, {&budget_, &admission_});
    if (!worker) return std::unexpected(worker.error());
    workers_.push_back(std::move(*worker));
  }
  return {};
}

std::expected<void, Error> Service::Listen(const std::vector<std::string>& places,
                                           const ProtocolFactory* factory) {
  for (const std::string& place : places) {
    if (auto listens = Listen(place, factory); !listens) return listens;
  }
  return {};
}

std::expected<void, Error> Service::Listen(const std::string& place,
                                           const ProtocolFactory* factory) {
  auto sockets = ListenAt(place);
  if (!sockets) return std::unexpected(sockets.error());
  for (fabric::Fd& socket : *sockets) {
    names_.push_back(NameOfSocket(socket, place));
    listeners_.push_back(
        std::make_unique<Listener>(base_.get(), std::move(socket), factory, workers_, &admission_));
  }
  return {};
}

Totals Service::totals() const {
  Totals totals{.threads = workers_.size(),
                .clients_max = admission_.limit(),
                .memory_used_bytes = budget_.used_bytes(),
                .memory_limit_bytes = budget_.limit_bytes(),
                .item_bytes_max = options_.item_bytes_max,
                .uptime = std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::steady_clock::now() - started_at_)};
  for (const auto& worker : workers_) totals.Add(worker->counts());
  return totals;
}

void Service::OnSignal(int fd, short, void* self) {
  auto* service = static_cast<Service*>(self);
  signalfd_siginfo signal{};
  if (::read(fd, &signal, sizeof(signal)) != sizeof(signal)) return;
  if (signal.ssi_signo == SIGHUP) {
    service->loop_->on_hang_up();
  } else {
    event_base_loopbreak(service->base_.get());
  }
}

std::expected<void, Error> Service::ReloadUsers() {
  return users_ == nullptr ? std::expected<void, Error>() : users_->Reload();
}

void Service::Run(const Loop& loop) {
  loop_ = &loop;
  event signal;
  event_assign(&signal, base_.get(), loop.signals, EV_READ | EV_PERSIST, OnSignal, this);
  event_add(&signal, nullptr);
  event tick;
  event_assign(
      &tick, base_.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Service*>(self)->loop_->on_tick(); },
      this);
  if (loop.tick.count() > 0) {
    const timeval time{.tv_sec = loop.tick.count() / 1'000'000,
                       .tv_usec = loop.tick.count() % 1'000'000};
    event_add(&tick, &time);
  }
  event_base_dispatch(base_.get());
  event_del(&tick);
  event_del(&signal);
}

}  // namespace plov::door
