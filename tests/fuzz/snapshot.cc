// Snapshots that somebody changed, under good checksums where that takes it further: what a server finds on
// disk when it starts.
//
// Properties: a snapshot as a server writes it is whole; one that is read to its end as whole is made of
// exactly what was read, so written anew it has the same bytes; and damage is told with a place in the file.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "tests/fuzz/input.h"
#include "tests/log/simulated_disk.h"
#include "verify/log.h"

namespace plov::fuzz {
namespace {

using log::Bytes;
using log::SnapshotReader;
using verify::kSnapshotBlockHeadBytes;
using verify::SnapshotFooter;

using Image = std::vector<std::byte>;

constexpr verify::LogHead kHead = {.shard = 1,
                                   .shard_count = 4,
                                   .id = {0x6c6f77, 0x68696768},
                                   .number = 7,
                                   .first_batch = 70,
                                   .hash_seed = 0x5eed};

// The parts of a file, before they are sealed at their places.
struct Parts {
  verify::LogHead head = kHead;
  std::vector<Image> blocks;      // of items, with room for their heads
  std::optional<Image> sessions;  // a block of them behind those
  SnapshotFooter differs{};       // from what the blocks say, XORed
};

Image SessionsBlock(const std::vector<verify::LoggedSession>& sessions) {
  Image block(kSnapshotBlockHeadBytes + sessions.size() * verify::kLoggedSessionBytes);
  std::byte* at = block.data() + kSnapshotBlockHeadBytes;
  for (const verify::LoggedSession& session : sessions) {
    verify::EncodeLoggedSession(session, at);
    at += verify::kLoggedSessionBytes;
  }
  return block;
}

Image HonestBlock(uint64_t first, uint64_t count) {
  Image block(kSnapshotBlockHeadBytes);
  for (uint64_t version = first; version < first + count; ++version) {
    const std::string key(version, 'k'), value(3 * version, 'v');
    const size_t at = block.size();
    block.resize(at + verify::LoggedBytes(key.size(), value.size()));
    const size_t used =
        verify::EncodeLoggedHead({.version = version, .key = key}, value.size(), block.data() + at);
    std::ranges::fill(std::span(block).subspan(at + used, value.size()), std::byte{'v'});
  }
  return block;
}

// How many operations there are, until one makes no sense; their numbers are added to a footer's.
uint32_t Count(Bytes operations, SnapshotFooter* footer) {
  uint32_t count = 0;
  while (const auto item = verify::TakeLogged(&operations)) {
    ++count;
    ++footer->items;
    footer->payload_bytes += item->key.size() + item->value.size();
    footer->last_version = std::max(footer->last_version, item->version);
  }
  return count;
}

uint32_t CountSessions(Bytes sessions) {
  uint32_t count = 0;
  while (verify::TakeLoggedSession(&sessions)) ++count;
  return count;
}

SnapshotFooter Differing(SnapshotFooter footer, const SnapshotFooter& by) {
  footer.digest ^= by.digest;
  footer.items ^= by.items;
  footer.payload_bytes ^= by.payload_bytes;
  footer.start_batch ^= by.start_batch;
  footer.needs_batch ^= by.needs_batch;
  footer.last_version ^= by.last_version;
  footer.bucket_bytes ^= by.bucket_bytes;
  footer.time_us ^= by.time_us;
  footer.sessions ^= by.sessions;
  footer.sessions_are_all ^= by.sessions_are_all;
  return footer;
}

// The file that a writer would make of them.
Image Assemble(Parts parts) {
  const auto head = verify::SealLogHead(verify::LogFile::kSnapshot, parts.head);
  Image file(head.begin(), head.end());
  SnapshotFooter footer{.start_batch = parts.head.first_batch};
  uint64_t number = 0;
  const auto add = [&](Image& block, verify::SnapshotBlockHead block_head) {
    block_head.number = number++;
    const uint64_t seed = verify::SnapshotSeed(parts.head.id, file.size());
    footer.digest =
        verify::SnapshotDigest(footer.digest, verify::SealSnapshotBlock(block, block_head, seed));
    file.insert(file.end(), block.begin(), block.end());
  };
  for (Image& block : parts.blocks) {
    add(block, {.operations = Count(Bytes(block).subspan(kSnapshotBlockHeadBytes), &footer)});
  }
  if (parts.sessions) {
    const auto count = CountSessions(Bytes(*parts.sessions).subspan(kSnapshotBlockHeadBytes));
    footer.sessions = count;
    add(*parts.sessions, {.operations = count, .kind = verify::SnapshotBlockHead::Kind::kSessions});
  }
  const auto end = verify::SealSnapshotFooter(Differing(footer, parts.differs), number,
                                              verify::SnapshotSeed(parts.head.id, file.size()));
  file.insert(file.end(), end.begin(), end.end());
  return file;
}

void ChangeHead(Input* input, verify::LogHead* head) {
  const uint64_t value = input->Take<uint8_t>();
  switch (input->Take<uint8_t>() % 6) {
    case 0:
      head->shard = static_cast<uint32_t>(value);
      return;
    case 1:
      head->shard_count = static_cast<uint32_t>(value);
      return;
    case 2:
      head->number = value;
      return;
    case 3:
      head->first_batch = value;
      return;
    case 4:
      head->file_bytes = value << 8;
      return;
    case 5:
      head->id.low = value;
      return;
  }
}

void ChangeFooter(Input* input, SnapshotFooter* footer) {
  const std::array fields = {&footer->digest,       &footer->items,       &footer->payload_bytes,
                             &footer->start_batch,  &footer->needs_batch, &footer->last_version,
                             &footer->bucket_bytes, &footer->time_us,     &footer->sessions};
  *fields[input->Take<uint8_t>() % fields.size()] = input->Take<uint16_t>();
}

// Of sessions, too, where there are any.
void ChangeBlocks(Input* input, Parts* parts) {
  std::vector<Image>* blocks = &parts->blocks;
  const size_t count = blocks->size() + (parts->sessions ? 1 : 0);
  if (count == 0) return;
  const size_t which = input->Take<uint8_t>() % count;
  Image& block = which < blocks->size() ? (*blocks)[which] : *parts->sessions;
  switch (input->Take<uint8_t>() % 4) {
    case 0:
    case 1:
      block[input->Take<uint16_t>() % block.size()] = input->Take<std::byte>();
      return;
    case 2:
      if (blocks->size() < 5) blocks->push_back(Image(block));
      return;
    case 3:
      block.resize(kSnapshotBlockHeadBytes + input->Take<uint8_t>());
      return;
  }
}

// A number of changes before all is sealed; the rest of the input changes the file as it is.
Image FileOf(Input* input) {
  Parts parts;
  const auto shape = input->Take<uint8_t>();
  if ((shape & 4) != 0) parts.sessions = SessionsBlock({{1, 5, 100}, {2, 0, 0}, {3, 7, 0}});
  for (uint64_t i = 0; i < shape % 4u; ++i) parts.blocks.push_back(HonestBlock(1 + 2 * i, 1 + i));
  for (auto changes = input->Take<uint8_t>() % 8; changes > 0; --changes) {
    switch (input->Take<uint8_t>() % 5) {
      case 0:
        ChangeHead(input, &parts.head);
        break;
      case 1:
        ChangeFooter(input, &parts.differs);
        break;
      case 2:
        parts.differs.sessions_are_all = !parts.differs.sessions_are_all;
        break;
      default:
        ChangeBlocks(input, &parts);
        break;
    }
  }
  Image file = Assemble(parts);
  while (!input->empty()) {
    const size_t at = input->Take<uint16_t>() % (file.size() + 1);
    if (at == file.size()) {
      file.resize(input->Take<uint16_t>() % (file.size() + 100));
    } else {
      file[at] = input->Take<std::byte>();
    }
    if (file.empty()) break;
  }
  return file;
}

// What there is of a file, until its end or damage.
struct ReadFile {
  std::optional<log::Damage> damage;
  Parts parts;
  SnapshotFooter footer{};
};

ReadFile Read(log::Disk* disk, const std::string& name) {
  auto reader = SnapshotReader::Open(disk, name);
  Check(reader.has_value(), "a disk without faults has no error");
  ReadFile read;
  if (!*reader) {
    read.damage = reader->error();
    return read;
  }
  read.parts.head = (*reader)->head();
  read.footer = (*reader)->footer();
  while (true) {
    const auto block = (*reader)->Next();
    Check(block.has_value(), "a disk without faults has no error");
    if (!*block) read.damage = block->error();
    if (!*block) return read;
    if (!**block) {
      const auto& sessions = (*reader)->sessions();
      if (!sessions.empty()) read.parts.sessions = SessionsBlock(sessions);
      return read;
    }
    Image& copy = read.parts.blocks.emplace_back(kSnapshotBlockHeadBytes);
    copy.insert(copy.end(), (**block)->begin(), (**block)->end());
  }
}

void Test(const Image& file, bool is_honest) {
  test::SimulatedDisk disk;
  const std::string name = log::SnapshotName(kHead.shard, kHead.number);
  disk.Put(name, file);
  ReadFile read = Read(&disk, name);
  if (read.damage) {
    Check(!is_honest, "an honest snapshot is whole");
    Check(read.damage->offset <= file.size() && !read.damage->what.empty() &&
              read.damage->file == disk.PathOf(name),
          "damage has a place");
    return;
  }
  // A last version may be greater than those in the file, and only the log knows what is needed.
  SnapshotFooter counted{};
  for (const Image& block : read.parts.blocks) {
    Count(Bytes(block).subspan(kSnapshotBlockHeadBytes), &counted);
  }
  Check(counted.last_version <= read.footer.last_version, "no version is greater than the last");
  read.parts.differs.last_version = counted.last_version ^ read.footer.last_version;
  read.parts.differs.needs_batch = read.footer.needs_batch;
  read.parts.differs.bucket_bytes = read.footer.bucket_bytes;
  read.parts.differs.time_us = read.footer.time_us;
  read.parts.differs.sessions_are_all = read.footer.sessions_are_all;
  Check(Assemble(read.parts) == file, "a snapshot that is read and written is the same");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  Input input(data, bytes);
  const auto file = FileOf(&input);
  Test(file, bytes <= 1);
  return 0;
}
