// What a connection of the fabric takes: its set-up, and READs of the superblock.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "client/cli/probes.h"
#include "client/cli/read_head.h"
#include "fabric/fabric.h"
#include "fabric/random.h"
#include "verify/superblock.h"

namespace plov::cli {

namespace {

using fabric::Clock;

constexpr size_t kReads = 101;  // their median is of one of them
constexpr uint32_t kReadBytes = 64;

// The superblock whole: it may be READ while it is written.
std::expected<Microseconds, Error> ReadSuperblock(fabric::Connection* connection,
                                                  verify::Superblock* page,
                                                  fabric::Deadline deadline) {
  while (true) {
    const auto time = ReadHead(connection, std::as_writable_bytes(std::span(page, 1)), deadline);
    if (!time) return time;
    switch (verify::CheckSuperblock(*page)) {
      case verify::SuperblockState::kWhole:
        return time;
      case verify::SuperblockState::kTorn:
        break;
      case verify::SuperblockState::kOtherFormat:
        return Fail(Code::kProtocol, "its memory is of another format version");
      case verify::SuperblockState::kNotPlov:
        return Fail(Code::kProtocol, "its memory is not a plov shard");
    }
    if (Clock::now() > deadline) return Fail(Code::kCorrupt, "its superblock is damaged");
  }
}

std::expected<std::string, Error> Measure(const std::string& uri,
                                          std::chrono::microseconds timeout) {
  const auto begin = Clock::now();
  const fabric::Deadline deadline = begin + timeout;
  verify::Superblock page;
  auto connection = fabric::Connection::Connect(uri, {.shard = 0,
                                                      .format_version = verify::kFormatVersion,
                                                      .client_id = fabric::RandomId(),
                                                      .deadline = deadline});
  if (!connection) return std::unexpected(connection.error());
  const Microseconds connect = Clock::now() - begin;
  const auto superblock = ReadSuperblock(connection->get(), &page, deadline);
  if (!superblock) return std::unexpected(superblock.error());
  std::array<Microseconds, kReads> times;
  for (Microseconds& time : times) {
    const auto head = std::as_writable_bytes(std::span(&page, 1)).first(kReadBytes);
    const auto measured = ReadHead(connection->get(), head, deadline);
    if (!measured) return std::unexpected(measured.error());
    time = *measured;
  }
  std::ranges::nth_element(times, times.begin() + kReads / 2);
  return fmt::format(
      "connected in {:.0f} us; READ the superblock, whole, format version {}, in {:.1f} us; {} "
      "READs of {} bytes: median {:.1f} us",
      connect.count(), verify::kFormatVersion, superblock->count(), kReads, kReadBytes,
      times[kReads / 2].count());
}

}  // namespace

std::expected<Microseconds, Error> ReadHead(fabric::Connection* connection, std::span<std::byte> to,
                                            fabric::Deadline deadline) {
  const fabric::ReadOp op{.bytes = static_cast<uint32_t>(to.size()), .to = to.data()};
  const auto begin = Clock::now();
  if (connection->Read({&op, 1}) != 1) return Fail(Code::kSystem, "no READ can be posted");
  fabric::Completion completion;
  while (connection->Poll({&completion, 1}) == 0) {
    if (Clock::now() > deadline) return Fail(Code::kTimeout, "a READ does not come back");
  }
  if (completion.status != fabric::Status::kDone) {
    return Fail(Code::kUnavailable, "the server went away during a READ");
  }
  return Clock::now() - begin;
}

void ProbeReads(const std::string& uri, std::chrono::microseconds timeout, Findings* findings) {
  const auto measured = Measure(uri, timeout);
  if (measured) return findings->Ok("READs", *measured);
  findings->Problem("READs", measured.error().message, "plov --version; plovd --version");
}

}  // namespace plov::cli
