// Life: one word that tells clients whether the server lives, without a system call and without the
// server's help.
//
// A GET over shared memory would succeed for ever on the memory of a dead server, and return values
// of a former life once a new server has started. So the listener's thread holds a *robust* mutex
// whose word is in a shared page: when that thread dies, of whatever cause, the kernel sets
// FUTEX_OWNER_DIED in the word, and does so before it closes the process's files, hence before
// another server can take the name. A client that looks at the word after its READ therefore never
// returns a value from the past of a new server. Source: get_robust_list(2).
//
//   shared page, read-only to clients                     private page
//     0        closed: 1 after a clean stop                 0   the mutex's place in the thread's
//     4072     the mutex, up to its list: the futex word,       list of robust mutexes: addresses
//              who holds it, no address
//
// The kernel follows the list in the server's own memory and finds each word at a fixed distance
// from its place there, so no address needs to be where clients could read it.
#pragma once

#include <cstddef>
#include <expected>

#include "fabric/os.h"

namespace plov::fabric::shm {

inline constexpr size_t kLifePageBytes = 4096;
inline constexpr size_t kLifeWordOffset = 4072;

// The server's side. Threads: created and destroyed by one thread, which lives in between.
class LifeHolder {
 public:
  static std::expected<LifeHolder, Error> Create();
  LifeHolder(LifeHolder&&) = default;
  LifeHolder& operator=(LifeHolder&&) = default;
  ~LifeHolder();  // tells clients that the server is gone

  int fd() const { return fd_.get(); }

 private:
  LifeHolder() = default;

  Fd fd_;  // read-only: a client that could write the word could end the server for all others
  Mapping pages_;  // both
};

// The client's side.
class LifeWatch {
 public:
  static std::expected<LifeWatch, Error> Watch(int fd);

  bool alive() const;

 private:
  Mapping page_;
};

}  // namespace plov::fabric::shm
