// Life: one word that tells clients whether the server lives, without a system call and without the
// server's help.
//
// A GET over shared memory would succeed for ever on the memory of a dead server, and return values
// of a former life once a new server has started. So the listener's thread holds a *robust* mutex
// in a shared page: when that thread dies, of whatever cause, the kernel sets FUTEX_OWNER_DIED in
// the mutex's word, and does so before it closes the process's files, hence before another server
// can take the name. A client that looks at the word after its READ therefore never returns a value
// from the past of a new server. Source: get_robust_list(2); the word is the first member of
// glibc's pthread_mutex_t, asserted in life.cc.
#pragma once

#include <cstddef>
#include <expected>

#include "fabric/os.h"

namespace plov::fabric::shm {

inline constexpr size_t kLifePageBytes = 4096;

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

  Fd fd_;  // read-only: the page holds pointers that an unlock follows, so no client may write it
  Mapping page_;
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
