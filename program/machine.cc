#include "program/machine.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "fabric/os.h"

namespace plov::program {

namespace {

std::optional<uint64_t> FirstNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::string Machine::PathOf(std::string_view path) const {
  return fmt::format("{}{}", root_, path);
}

// Not by a stream: files of sysfs may fail to be read after they were opened (the carrier of an
// interface that is down), and then libstdc++'s throw.
std::optional<std::string> Machine::Read(std::string_view path) const {
  const fabric::Fd file(::open(PathOf(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t bytes = ::read(file.get(), piece.data(), piece.size());
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) break;
    text.append(piece.data(), static_cast<size_t>(bytes));
  }
  text.erase(std::min(text.find_last_not_of(" \t\n") + 1, text.size()));
  return text;
}

std::optional<uint64_t> Machine::ReadNumber(std::string_view path) const {
  const auto text = Read(path);
  return text ? FirstNumber(*text) : std::nullopt;
}

std::optional<uint64_t> Machine::ReadField(std::string_view path, std::string_view name) const {
  const auto text = Read(path);
  if (!text) return std::nullopt;
  const std::string key = fmt::format("\n{}:", name);
  const std::string lines = fmt::format("\n{}", *text);
  const size_t at = lines.find(key);
  if (at == std::string::npos) return std::nullopt;
  return FirstNumber(std::string_view(lines).substr(at + key.size()));
}

std::vector<std::string> Machine::List(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(PathOf(path), failure), end;
       !failure && entry != end; entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string AsRoot(std::string_view command) {
  return fmt::format("{}{}", ::geteuid() == 0 ? "" : "sudo ", command);
}

std::string WriteAsRoot(std::string_view text, std::string_view path) {
  return fmt::format("echo {} | {}", text, AsRoot(fmt::format("tee {}", path)));
}

std::string Quoted(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:@%+=,").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace plov::program
