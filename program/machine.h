// Machine: what the kernel tells of itself in files, for the probes of `plov doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plov::program {

class Machine {
 public:
  // root: put before every path; tests name a folder with a proc and a sys of their own.
  explicit Machine(std::string root = {}) : root_(std::move(root)) {}

  // The file without white space at its end; nullopt when it cannot be read.
  std::optional<std::string> Read(std::string_view path) const;
  // Its first number.
  std::optional<uint64_t> ReadNumber(std::string_view path) const;
  // The number behind "NAME:" on a line of it.
  std::optional<uint64_t> ReadField(std::string_view path, std::string_view name) const;
  // The names in a folder, sorted; none when there is no such folder.
  std::vector<std::string> List(std::string_view path) const;

  std::string PathOf(std::string_view path) const;

 private:
  std::string root_;
};

// A command that only root may run, as this user types it.
std::string AsRoot(std::string_view command);
std::string WriteAsRoot(std::string_view text, std::string_view path);

// A word for the shell, quoted when it needs to be.
std::string Quoted(std::string_view word);

}  // namespace plov::program
