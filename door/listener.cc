#include "door/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace plov::door {

namespace {

constexpr timeval kPause{.tv_sec = 0, .tv_usec = 10'000};  // as memcached's
// Clients in one go, before other listeners and signals get a turn.
constexpr int kAtOnce = 64;

bool IsOutOfDescriptors(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS ||
         error_number == ENOMEM;
}

}  // namespace

Listener::Listener(event_base* base, fabric::Fd socket, const ProtocolFactory* factory,
                   std::span<const std::unique_ptr<Worker>> workers, Admission* admission)
    : socket_(std::move(socket)), factory_(factory), workers_(workers), admission_(admission) {
  event_assign(
      &acceptable_, base, socket_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Listener*>(self)->Accept(); }, this);
  event_assign(
      &resume_, base, -1, 0,
      [](evutil_socket_t, short, void* self) {
        event_add(&static_cast<Listener*>(self)->acceptable_, nullptr);
      },
      this);
  event_add(&acceptable_, nullptr);
}

Listener::~Listener() {
  event_del(&resume_);
  event_del(&acceptable_);
}

void Listener::Pause() {
  event_del(&acceptable_);
  event_add(&resume_, &kPause);
}

void Listener::Accept() {
  for (int i = 0; i < kAtOnce; ++i) {
    fabric::Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) {
      if (IsOutOfDescriptors(errno)) Pause();
      return;
    }
    const int on = 1;  // of a Unix socket it fails, which does no harm
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(client.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!admission_->Enter()) {
      const std::string_view refusal = factory_->too_many_connections();
      // It goes into the socket's empty buffer, or the client is told nothing.
      [[maybe_unused]] const ssize_t sent =
          ::send(client.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    workers_[next_]->Add(std::move(client), factory_);
    next_ = (next_ + 1) % workers_.size();
  }
}

}  // namespace plov::door
