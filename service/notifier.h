// Notifier: tells systemd how the server is (sd_notify(3)): that it starts, serves, reads its options anew,
// lives, stops. Without systemd, or built without libsystemd, it says nothing to nobody.
//
// Threads: the main thread; While has one of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace plov::service {

class Notifier {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether somebody listens.
  static bool is_on();
  // How often the watchdog wants to hear Alive, at the least; zero: there is none.
  static std::chrono::microseconds watchdog();

  static void Ready(const std::string& status);
  static void Reloading();
  static void Stopping();
  static void Alive();
  static void Status(const std::string& status);

  // While it exists, the server is not served by a loop that could say so: every few seconds it is said
  // that it lives and, when `status` is there, how far it is and that its start may take longer.
  class While {
   public:
    explicit While(std::function<std::string()> status = nullptr);

   private:
    std::jthread thread_;
  };
};

}  // namespace plov::service
