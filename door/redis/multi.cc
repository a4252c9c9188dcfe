#include "door/redis/multi.h"

#include <algorithm>

namespace plov::door::redis {

bool Watches::Has(std::string_view key) const {
  return std::ranges::any_of(all, [key](const Watch& watch) { return watch.key == key; });
}

size_t Watches::bytes() const {
  size_t bytes = sizeof(*this) + all.capacity() * sizeof(Watch);
  for (const Watch& watch : all) bytes += watch.key.capacity();
  return bytes;
}

size_t QueuedCommand::BytesOf(std::span<const std::string_view> arguments) {
  size_t bytes = 2 * sizeof(QueuedCommand);
  for (const std::string_view argument : arguments) bytes += sizeof(std::string) + argument.size();
  return bytes;
}

void Multi::Add(const Command* command, std::span<const std::string_view> arguments) {
  queue_.commands.push_back({command, {arguments.begin(), arguments.end()}});
  queue_.argument_count += arguments.size();
  queue_.bytes += QueuedCommand::BytesOf(arguments);
}

void Multi::Clear() {
  is_open_ = false;
  is_spoiled_ = false;
  queue_ = {};
  Unwatch();
}

}  // namespace plov::door::redis
