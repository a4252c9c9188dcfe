#include "log/snapshot_reader.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace plov::log {

namespace {

using verify::kSnapshotBlockHeadBytes;
using verify::kSnapshotFooterBytes;

using Kind = verify::SnapshotBlockHead::Kind;
using BlockOrDamage = std::expected<std::optional<Bytes>, Damage>;

std::string Differs(std::string_view what, uint64_t found, uint64_t footer) {
  return "it has " + std::to_string(found) + " " + std::string(what) + ", and its footer says " +
         std::to_string(footer);
}

}  // namespace

Damage SnapshotReader::DamageAt(uint64_t offset, std::string what) const {
  return {.file = path_, .offset = offset, .what = std::move(what)};
}

std::expected<std::expected<SnapshotReader, Damage>, Error> SnapshotReader::Open(
    Disk* disk, const std::string& name) {
  using Opened = std::expected<SnapshotReader, Damage>;
  SnapshotReader reader;
  reader.path_ = disk->PathOf(name);
  const auto head = ReadHead(disk, name, verify::LogFile::kSnapshot);
  if (!head) {
    if (!IsDamage(head.error())) return std::unexpected(head.error());
    return Opened(std::unexpect, DamageOfHead(reader.path_, head.error()));
  }
  reader.head_ = *head;
  auto file = disk->Open(name, Disk::Mode::kRead);
  if (!file) return std::unexpected(file.error());
  reader.file_ = std::move(*file);
  reader.file_bytes_ = reader.file_->bytes();
  if (reader.file_bytes_ < verify::kLogBlockBytes + kSnapshotFooterBytes) {
    return Opened(std::unexpect, reader.DamageAt(reader.file_bytes_, "it ends before its footer"));
  }
  const auto wrong = reader.ReadFooter();
  if (!wrong) return std::unexpected(wrong.error());
  if (!wrong->empty()) return Opened(std::unexpect, reader.DamageAt(reader.FooterAt(), *wrong));
  return reader;
}

std::expected<std::string, Error> SnapshotReader::ReadFooter() {
  std::array<std::byte, kSnapshotFooterBytes> bytes;
  if (const auto read = file_->Read(FooterAt(), bytes); !read) {
    return std::unexpected(read.error());
  }
  // Its number is the count of the blocks, which nobody knows before they are read.
  std::memcpy(&footer_blocks_, bytes.data() + 16, sizeof(footer_blocks_));
  const uint64_t seed = verify::SnapshotSeed(head_.id, FooterAt());
  const auto footer = verify::CheckSnapshotFooter(bytes, footer_blocks_, seed);
  if (!footer) return "there is no whole footer at its end: it was cut short, or is damaged";
  if (footer->start_batch != head_.first_batch) {
    return "its footer says that replay begins with batch " + std::to_string(footer->start_batch) +
           ", and its head with batch " + std::to_string(head_.first_batch);
  }
  footer_ = *footer;
  return {};
}

std::expected<BlockOrDamage, Error> SnapshotReader::Next() {
  while (at_ < FooterAt()) {
    const uint64_t block_at = at_;
    const auto wrong = ReadBlock();
    if (!wrong) return std::unexpected(wrong.error());
    if (!wrong->empty()) {
      return BlockOrDamage(std::unexpect,
                           DamageAt(block_at, "block " + std::to_string(blocks_) + " " + *wrong));
    }
    if (block_head_.kind == Kind::kItems) return Bytes(block_).subspan(kSnapshotBlockHeadBytes);
  }
  if (at_ == FooterAt()) {
    const std::string wrong = CheckTotal();
    if (!wrong.empty()) return BlockOrDamage(std::unexpect, DamageAt(at_, wrong));
    at_ = file_bytes_;
  }
  return std::nullopt;
}

std::expected<std::string, Error> SnapshotReader::ReadBlock() {
  const uint64_t room = FooterAt() - at_;
  if (room < kSnapshotBlockHeadBytes) return "is cut short";
  block_.resize(kSnapshotBlockHeadBytes);
  if (const auto read = file_->Read(at_, block_); !read) return std::unexpected(read.error());
  const auto head = verify::GuessSnapshotBlock(block_, room);
  if (!head) return "has a head that makes no sense";
  block_.resize(head->bytes);
  const auto rest = std::span(block_).subspan(kSnapshotBlockHeadBytes);
  if (const auto read = file_->Read(at_ + kSnapshotBlockHeadBytes, rest); !read) {
    return std::unexpected(read.error());
  }
  if (!verify::CheckSnapshotBlock(block_, *head, verify::SnapshotSeed(head_.id, at_))) {
    return "fails its checksum";
  }
  if (head->number != blocks_) return "says that it is block " + std::to_string(head->number);
  block_head_ = *head;
  if (head->kind == Kind::kSessions) {
    TakeSessions();
  } else if (std::string wrong = CountItems(); !wrong.empty()) {
    return wrong;
  }
  digest_ = verify::SnapshotDigest(digest_, head->checksum);
  at_ += head->bytes;
  ++blocks_;
  return {};
}

void SnapshotReader::TakeSessions() {
  Bytes rest = Bytes(block_).subspan(kSnapshotBlockHeadBytes);
  while (const auto session = verify::TakeLoggedSession(&rest)) sessions_.push_back(*session);
}

std::string SnapshotReader::CountItems() {
  Bytes rest = Bytes(block_).subspan(kSnapshotBlockHeadBytes);
  while (const auto item = verify::TakeLogged(&rest)) {
    if (item->version > footer_.last_version) {
      return "holds version " + std::to_string(item->version) + ", and the footer says that " +
             std::to_string(footer_.last_version) + " is the last";
    }
    payload_bytes_ += item->key.size() + item->value.size();
  }
  items_ += block_head_.operations;
  return {};
}

std::string SnapshotReader::CheckTotal() const {
  if (blocks_ != footer_blocks_) return Differs("blocks", blocks_, footer_blocks_);
  if (items_ != footer_.items) return Differs("items", items_, footer_.items);
  if (payload_bytes_ != footer_.payload_bytes) {
    return Differs("payload bytes", payload_bytes_, footer_.payload_bytes);
  }
  if (sessions_.size() != footer_.sessions) {
    return Differs("sessions", sessions_.size(), footer_.sessions);
  }
  if (digest_ != footer_.digest) return "its blocks are whole but not those of its footer";
  return {};
}

}  // namespace plov::log
