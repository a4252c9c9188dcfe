// Listener: accepts clients at one socket and hands them to the workers in turn.
//
// Where descriptors run out it accepts none for a moment, so that those who wait stay in the kernel.
//
// Threads: the main thread.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include <memory>
#include <span>
#include <string>

#include "door/budget.h"
#include "door/protocol.h"
#include "door/worker.h"
#include "fabric/os.h"

namespace plov::door {

class Listener {
 public:
  Listener(event_base* base, fabric::Fd socket, const ProtocolFactory* factory,
           std::span<const std::unique_ptr<Worker>> workers, Admission* admission);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

 private:
  void Accept();
  void Pause();

  fabric::Fd socket_;
  const ProtocolFactory* factory_;
  std::span<const std::unique_ptr<Worker>> workers_;
  Admission* admission_;
  size_t next_ = 0;
  event acceptable_;
  event resume_;
};

}  // namespace plov::door
