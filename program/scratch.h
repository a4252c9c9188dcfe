// Scratch: what a run leaves outside its processes - a folder, keys on a server - goes with it.
//
// Also when the tool is killed: a small process of its own, in a session of its own, waits for the
// tool's end and then cleans up.
#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <string>

#include "verify/error.h"

namespace plov::program {

// Calls `clean` in another process when this one ends without having called Dismiss.
class Janitor {
 public:
  // Before this process has threads.
  static std::expected<Janitor, Error> Start(std::function<void()> clean);
  Janitor(Janitor&& other) noexcept;
  Janitor& operator=(Janitor&&) = delete;
  ~Janitor() { Dismiss(); }

  void Dismiss();

 private:
  Janitor(pid_t pid, int pipe) : pid_(pid), pipe_(pipe) {}

  pid_t pid_;
  int pipe_;
};

// A new folder: in memory (/dev/shm) where that is asked for and there is one, else where temporary
// files go. It is called as the tool, and six characters more. Errors: kSystem.
enum class Place { kDisk, kMemory };
std::expected<std::string, Error> MakeFolder(Place place, const std::string& tool = "plov-torture");
void RemoveFolder(const std::string& path);

}  // namespace plov::program
