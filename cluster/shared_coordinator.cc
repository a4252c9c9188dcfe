#include "cluster/shared_coordinator.h"

#include <utility>

namespace plov::cluster {

class SharedCoordinator::User final : public Coordinator {
 public:
  User(SharedCoordinator* shared, fabric::Fd event, fabric::Fd epoll)
      : shared_(shared), event_(std::move(event)), epoll_(std::move(epoll)) {}
  ~User() override {
    const std::lock_guard lock(shared_->mutex_);
    std::erase(shared_->users_, this);
  }

  std::expected<Value, Error> Get(const std::string& path) override { return all().Get(path); }
  std::expected<Revision, Error> Set(const std::string& path, const std::string& data,
                                     Revision revision) override {
    return all().Set(path, data, revision);
  }
  std::expected<Revision, Error> Create(const std::string& path, const std::string& data,
                                        Lifetime lifetime) override {
    return all().Create(path, data, lifetime);
  }
  std::expected<void, Error> Delete(const std::string& path, Revision revision) override {
    return all().Delete(path, revision);
  }
  std::expected<std::vector<std::string>, Error> List(const std::string& path) override {
    return all().List(path);
  }
  State state() const override { return all().state(); }

  void Watch(const std::string& path) override {
    {
      const std::lock_guard lock(shared_->mutex_);
      watched_.insert(path);
    }
    all().Watch(path);
  }
  int hint_fd() const override { return epoll_.get(); }
  std::vector<std::string> TakeHints() override {
    const std::lock_guard lock(shared_->mutex_);
    shared_->Distribute();
    fabric::ClearEvent(event_.get());
    const std::set<std::string> hints = std::exchange(hints_, {});
    return {hints.begin(), hints.end()};
  }

  // Under the mutex. path: that somebody watches.
  void Hint(const std::string& path) {
    if (!watched_.contains(path)) return;
    hints_.insert(path);
    fabric::Ring(event_.get());
  }

 private:
  Coordinator& all() const { return *shared_->coordinator_; }

  SharedCoordinator* shared_;
  fabric::Fd event_;               // it has hints
  fabric::Fd epoll_;               // of it, and of the hints of all
  std::set<std::string> watched_;  // under the mutex, as the next
  std::set<std::string> hints_;
};

std::expected<std::unique_ptr<Coordinator>, Error> SharedCoordinator::AddUser() {
  auto event = fabric::CreateEventFd();
  if (!event) return std::unexpected(event.error());
  auto epoll = fabric::CreateEpoll({event->get(), coordinator_->hint_fd()});
  if (!epoll) return std::unexpected(epoll.error());
  auto user = std::make_unique<User>(this, std::move(*event), std::move(*epoll));
  const std::lock_guard lock(mutex_);
  users_.push_back(user.get());
  return user;
}

void SharedCoordinator::Distribute() {
  for (const std::string& path : coordinator_->TakeHints()) {
    for (User* user : users_) user->Hint(path);
  }
}

}  // namespace plov::cluster
