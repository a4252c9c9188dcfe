#include "ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace plov::power {

namespace {

std::unexpected<Error> FailHere(const std::string& what) {
  return Fail(Code::kSystem, what + ": " + std::strerror(errno));
}

}  // namespace

std::string KeyPrefix(uint32_t writer, uint32_t key) {
  return std::to_string(writer) + "." + std::to_string(key) + ".";
}

std::string ValueOf(uint32_t writer, const Record& put) {
  const std::string piece = std::to_string(writer) + "." + std::to_string(put.number) + " ";
  std::string value;
  while (value.size() < put.value_bytes) value += piece;
  value.resize(put.value_bytes);
  return value;
}

std::expected<Ledger, Error> ReadLedger(const std::string& device, uint64_t offset) {
  const int fd = ::open(device.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FailHere(device + ": cannot open");
  Ledger ledger;
  for (uint32_t part = 0; part < kParts; ++part) {
    std::vector<Record> records(kRecordsPerPart);
    const auto at = static_cast<off_t>(offset + part * kPartBytes);
    const ssize_t got = ::pread(fd, records.data(), kPartBytes, at);
    if (got != static_cast<ssize_t>(kPartBytes)) return FailHere(device + ": cannot read");
    uint64_t count = 0;
    while (count < records.size() && records[count].number == count + 1) ++count;
    records.resize(count);
    ledger.push_back(std::move(records));
  }
  ::close(fd);
  return ledger;
}

void Part::Free::operator()(Record* records) const { std::free(records); }

std::expected<Part, Error> Part::Open(const std::string& device, uint64_t offset, uint32_t part) {
  Part opened;
  opened.offset_ = offset + part * kPartBytes;
  // O_DIRECT: what is written is with the disk, not in the cache of the machine that goes.
  opened.fd_ = ::open(device.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  if (opened.fd_ < 0) return FailHere(device + ": cannot open");
  void* memory = std::aligned_alloc(4096, kPartBytes);
  if (memory == nullptr) return FailHere("no memory");
  std::memset(memory, 0, kPartBytes);
  opened.records_.reset(static_cast<Record*>(memory));
  const ssize_t put = ::pwrite(opened.fd_, memory, kPartBytes, static_cast<off_t>(opened.offset_));
  if (put != static_cast<ssize_t>(kPartBytes)) return FailHere(device + ": cannot write");
  return opened;
}

Record& Part::Add(Record record) {
  record.number = count_ + 1;
  records_[count_] = record;
  return records_[count_++];
}

std::expected<void, Error> Part::Write(uint32_t count) {
  const uint64_t begin = (count_ - count) * sizeof(Record) / kSectorBytes * kSectorBytes;
  const uint64_t end = count_ * sizeof(Record) + kSectorBytes - 1;
  const uint64_t bytes = end / kSectorBytes * kSectorBytes - begin;
  const Record* from = &records_[begin / sizeof(Record)];
  const ssize_t put = ::pwrite(fd_, from, bytes, static_cast<off_t>(offset_ + begin));
  if (put != static_cast<ssize_t>(bytes)) return FailHere("cannot write to the ledger");
  return {};
}

}  // namespace plov::power
