// Fleet: the client processes of a run.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "program/process.h"
#include "torture/auditor.h"
#include "torture/run_memory.h"

namespace plov::torture {

// Threads: the main one, which all processes are started by.
class Fleet {
 public:
  Fleet(const RunMapping* mapping, Auditor* auditor) : mapping_(mapping), auditor_(auditor) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::expected<void, Error> Start(size_t clients);
  size_t size() const { return processes_.size(); }
  uint32_t launched() const { return next_process_; }  // in all
  program::Process& process(size_t index) { return processes_[index]; }

  // Kills one and starts another in its place.
  std::expected<void, Error> Replace(size_t index);

  // Asks all to wait between two batches; Await returns when they do. std::nullopt, or who did not.
  void Park();
  std::optional<std::string> AwaitParked();
  void Release();

  // Which has ended without being asked to, if any, and how.
  std::optional<std::string> UnexpectedExit();

  // Ends all. Returns which had to be killed, if any.
  std::optional<std::string> Stop();

  // What all that ever ran have counted, and the wrong values that they got.
  Counts counts() const;
  const std::vector<std::string>& lies() const { return lies_; }
  bool has_lie() const;

 private:
  std::expected<program::Process, Error> Launch(size_t index);
  void Retire(size_t index);

  const RunMapping* mapping_;
  Auditor* auditor_;
  std::vector<program::Process> processes_;
  uint32_t next_process_ = 0;
  Counts former_{};  // of processes that have ended
  std::vector<std::string> lies_;
};

}  // namespace plov::torture
