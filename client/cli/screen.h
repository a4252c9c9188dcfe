// Screen: a terminal that is drawn on, its keys, and the signals that end or change that.
//
// Threads: one, which has all signals of the process.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "client/cli/top_view.h"
#include "fabric/os.h"
#include "verify/error.h"

namespace plov::cli {

class Screen {
 public:
  enum class Event { kTime, kEnd, kKey, kResized };

  // Standard output, and the keys of standard input where both are a terminal. One that is none is only
  // written to, and signals have their usual effect. Restores the terminal and what signals do when it
  // goes, also when Await tells of a signal that is to end the process.
  static std::expected<std::unique_ptr<Screen>, Error> Open();
  // Standard output that is only written to, whatever it is.
  static std::unique_ptr<Screen> Plain() { return std::unique_ptr<Screen>(new Screen); }
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return is_terminal_; }
  bool has_colors() const { return has_colors_; }
  ScreenSize size() const;

  // kSystem: it cannot be written to.
  std::expected<void, Error> Write(std::string_view bytes);

  // Waits for a key, a signal, or the end of the time.
  Event Await(std::chrono::steady_clock::time_point until);
  char key() const { return key_; }  // of kKey

 private:
  Screen() = default;
  void Enter();
  void Leave();
  std::optional<Event> TakeSignal();

  fabric::Fd signals_;
  sigset_t blocked_before_{};
  bool is_terminal_ = false;
  bool has_keys_ = false;
  bool has_colors_ = false;
  termios before_{};
  char key_ = 0;
};

}  // namespace plov::cli
