#include "log/offline/copier.h"

#include <algorithm>
#include <utility>

#include "log/folder.h"

namespace plov::log::offline {

namespace {

constexpr uint64_t kCopyBytes = uint64_t{4} << 20;

}  // namespace

std::expected<std::unique_ptr<File>, Error> Copier::Create(const std::string& name) {
  auto file = to_->Open(Unfinished(name), Disk::Mode::kCreate);
  if (file) made_.push_back(Unfinished(name));
  return file;
}

std::expected<void, Error> Copier::Write(File* file, uint64_t offset, Bytes piece) {
  if (auto written = file->Write(offset, {&piece, 1}); !written) return written;
  bytes_ += piece.size();
  if (copied_) copied_(bytes_);
  return {};
}

std::expected<void, Error> Copier::CopyFile(const std::string& name, const Part& part) {
  const auto source = from_->Open(name, Disk::Mode::kRead);
  if (!source) return std::unexpected(source.error());
  const auto target = Create(name);
  if (!target) return std::unexpected(target.error());
  std::vector<std::byte> piece;
  for (uint64_t at = 0; at < (*source)->bytes(); at += piece.size()) {
    piece.assign(std::min(kCopyBytes, (*source)->bytes() - at), std::byte{0});
    const uint64_t keep = std::min(part.keep_bytes - std::min(part.keep_bytes, at), piece.size());
    if (auto read = (*source)->Read(at, std::span(piece).first(keep)); !read) return read;
    if (auto written = Write(target->get(), at, piece); !written) return written;
  }
  if (!part.then.empty()) {
    const Bytes then = part.then;
    if (auto written = (*target)->Write(part.keep_bytes, {&then, 1}); !written) return written;
  }
  return (*target)->Sync();
}

std::expected<uint64_t, Error> Copier::LinkFile(const std::string& name, const Link& link) {
  const auto linked = link(name, Unfinished(name));
  if (!linked) return std::unexpected(linked.error());
  if (*linked) {
    made_.push_back(Unfinished(name));
  } else if (auto copied = CopyFile(name, {}); !copied) {
    return std::unexpected(copied.error());
  }
  // Not for writing: what is linked is the server's, too.
  const auto file = to_->Open(Unfinished(name), Disk::Mode::kRead);
  if (!file) return std::unexpected(file.error());
  if (auto synced = (*file)->Sync(); !synced) return std::unexpected(synced.error());
  return (*file)->bytes();
}

std::expected<void, Error> Copier::MakeSegment(const verify::LogHead& head, File* from,
                                               uint64_t end) {
  const auto target = Create(SegmentName(head.shard, head.number));
  if (!target) return std::unexpected(target.error());
  const verify::LogBlock block = verify::SealLogHead(verify::LogFile::kSegment, head);
  if (auto written = Write(target->get(), 0, block); !written) return written;
  std::vector<std::byte> piece;
  for (uint64_t at = block.size(); at < head.file_bytes; at += piece.size()) {
    piece.assign(std::min(kCopyBytes, head.file_bytes - at), std::byte{0});
    const uint64_t keep = std::min(end - std::min(end, at), piece.size());
    if (keep > 0) {
      if (auto read = from->Read(at, std::span(piece).first(keep)); !read) return read;
    }
    if (auto written = Write(target->get(), at, piece); !written) return written;
  }
  return (*target)->Sync();
}

std::expected<void, Error> Copier::Finish() {
  for (std::string& name : made_) {
    const std::string unfinished = std::exchange(name, name.substr(0, name.rfind('.')));
    if (auto renamed = to_->Rename(unfinished, name); !renamed) {
      name = unfinished;
      return renamed;
    }
  }
  return {};
}

void Copier::Remove() {
  for (const std::string& name : made_) static_cast<void>(to_->Remove(name));
  made_.clear();
}

std::expected<std::vector<Report>, Error> CheckCopy(Disk* disk) {
  auto reports = Check(disk, nullptr);
  if (!reports) return reports;
  for (const Report& report : *reports) {
    if (report.damages.empty()) continue;
    return Fail(Code::kCorrupt, "the copy is damaged: " + report.damages.front().Line());
  }
  return reports;
}

}  // namespace plov::log::offline
