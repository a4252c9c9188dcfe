#include "client/link.h"

#include <array>

#include "verify/superblock.h"

namespace plov {

namespace {

using verify::Superblock;
using verify::SuperblockVerdict;

// One READ, waited for.
std::expected<Superblock, Error> ReadPage(fabric::Connection* connection,
                                          fabric::Deadline deadline) {
  alignas(verify::kWordBytes) Superblock page;
  fabric::ReadOp op;
  op.bytes = op.head_bytes = sizeof(page);
  op.head = std::as_writable_bytes(std::span(&page, 1)).data();
  if (connection->Read({&op, 1}) != 1) return Fail(Code::kSystem, "cannot post a READ");
  fabric::Completion completion;
  while (connection->Poll({&completion, 1}) == 0) {
    if (fabric::Clock::now() > deadline)
      return Fail(Code::kTimeout, "the superblock does not come");
  }
  if (completion.status != fabric::Status::kDone) {
    return Fail(Code::kUnavailable, "the server went away");
  }
  return page;
}

}  // namespace

std::expected<std::optional<cuckoo::ShardView>, Error> ViewOf(const Superblock& page,
                                                              uint32_t shard,
                                                              uint64_t region_bytes) {
  switch (verify::JudgeSuperblock(page)) {
    case SuperblockVerdict::kWhole:
      if (page.shard != shard || page.region_bytes != region_bytes) {
        return Fail(Code::kProtocol, "the server's memory is not the shard that was asked for");
      }
      return cuckoo::ShardView::Of(page);
    case SuperblockVerdict::kTorn:
      return std::nullopt;
    case SuperblockVerdict::kOtherFormat:
      return Fail(Code::kProtocol, "the server's memory has format version " +
                                       std::to_string(page.format) + ", this client reads " +
                                       std::to_string(verify::kFormatVersion) +
                                       ": use the same release of both");
    case SuperblockVerdict::kNotPlov:
      break;
  }
  return Fail(Code::kProtocol, "the server's memory is no plov shard");
}

std::expected<cuckoo::ShardView, Error> ReadSuperblock(fabric::Connection* connection,
                                                       uint32_t shard, fabric::Deadline deadline) {
  while (true) {
    const auto page = ReadPage(connection, deadline);
    if (!page) return std::unexpected(page.error());
    const auto view = ViewOf(*page, shard, connection->limits().region_bytes);
    if (!view) return std::unexpected(view.error());
    if (*view) return **view;
    if (fabric::Clock::now() >= deadline) {
      return Fail(Code::kCorrupt, "the server's superblock is damaged: restart plovd");
    }
  }
}

std::expected<Connected, Error> ConnectShard(const std::string& uri, uint32_t shard,
                                             uint64_t client_id, fabric::Deadline deadline) {
  auto connection = fabric::Connection::Connect(uri, {.shard = shard,
                                                      .format_version = verify::kFormatVersion,
                                                      .client_id = client_id,
                                                      .deadline = deadline});
  if (!connection) return std::unexpected(connection.error());
  auto view = ReadSuperblock(connection->get(), shard, deadline);
  if (!view) return std::unexpected(view.error());
  return Connected{std::move(*connection), *view};
}

}  // namespace plov
