// load: lines of a file become items, in batches, with memory for one batch only.

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/json_lines.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "program/format.h"
#include "program/progress.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

constexpr size_t kBatchBytesMax = size_t{4} << 20;
constexpr size_t kItemBytesMax = verify::kKeyBytesMax + verify::kValueBytesMax;
constexpr size_t kLineBytesMax = 2 * kItemBytesMax + 1;
constexpr size_t kJsonLineBytesMax = kJsonBytesMax * kItemBytesMax + 256;
constexpr uint64_t kReportsMax = 20;

using ParseItem = std::string (*)(std::string_view text, std::string* bytes, ItemRef* item);

struct Failure {
  uint64_t line;
  Error error;
};

class Loader {
 public:
  Loader(Client* client, LineReader* lines, ParseItem parse, std::string name)
      : client_(client), lines_(lines), parse_(parse), name_(std::move(name)) {}

  Outcome Run();
  std::string Summary(bool json) const;

 private:
  bool FillBatch();
  void TakeLine(const LineReader::Line& line);
  bool HasExpired(const ItemRef& ref) const;
  void StoreBatch();
  void OnStored(size_t index, const Client::PutResult& result);
  void Reject(uint64_t line, std::string_view why);
  Outcome Conclude() const;

  Client* client_;
  LineReader* lines_;
  ParseItem parse_;
  std::string name_;  // of the file, as messages show it
  program::Progress progress_;

  std::string bytes_;  // of the batch's keys and values
  std::vector<ItemRef> refs_;
  std::vector<uint64_t> line_numbers_;
  std::vector<PutItem> items_;

  uint64_t stored_ = 0;
  uint64_t stored_bytes_ = 0;
  uint64_t rejected_ = 0;
  uint64_t expired_ = 0;
  std::optional<Failure> failure_;
};

void Loader::Reject(uint64_t line, std::string_view why) {
  if (rejected_++ >= kReportsMax) return;
  progress_.Clear();
  fmt::print(stderr, "plov: load: {}:{}: {}\n", name_, line, why);
}

// What cannot be known, because the server is away, shows when the item is stored.
bool Loader::HasExpired(const ItemRef& ref) const {
  if (ref.expiry == 0) return false;
  const std::string_view key = std::string_view(bytes_).substr(ref.offset, ref.key_bytes);
  const auto time = client_->Time(key);
  return time && time->earliest_us >= uint64_t{ref.expiry} * 1'000'000;
}

void Loader::TakeLine(const LineReader::Line& line) {
  if (line.kind == LineReader::Kind::kTooLong) {
    return Reject(lines_->number(), "the line is longer than any item");
  }
  ItemRef ref;
  const std::string wrong = parse_(line.text, &bytes_, &ref);
  if (!wrong.empty()) return Reject(lines_->number(), wrong);
  if (HasExpired(ref)) {
    ++expired_;
    return bytes_.resize(ref.offset);
  }
  refs_.push_back(ref);
  line_numbers_.push_back(lines_->number());
}

// False at the end of the file. Does not wait for more lines while there are items to store.
bool Loader::FillBatch() {
  while (refs_.size() < kBatchItemsMax && bytes_.size() < kBatchBytesMax) {
    if (!refs_.empty() && lines_->MustWait()) return true;
    const LineReader::Line line = lines_->Next();
    if (line.kind == LineReader::Kind::kEnd) return false;
    if (line.kind == LineReader::Kind::kFailed) {
      auto failed = FailErrno(fmt::format("cannot read {}", name_), lines_->error_number());
      failure_ = {lines_->number() + 1, failed.error()};
      return false;
    }
    TakeLine(line);
  }
  return true;
}

void Loader::OnStored(size_t index, const Client::PutResult& result) {
  if (result) {
    ++stored_;
    stored_bytes_ += items_[index].key.size() + items_[index].value.size();
    return;
  }
  const Error& error = result.error();
  const uint64_t line = line_numbers_[index];
  if (error.code == Code::kTooLarge || error.code == Code::kInvalidArgument) {
    return Reject(line, error.message);
  }
  if (!failure_ || line < failure_->line) failure_ = {line, error};
}

void Loader::StoreBatch() {
  items_.clear();
  const std::string_view bytes = bytes_;  // it grows no more
  for (const ItemRef& ref : refs_) {
    items_.push_back({bytes.substr(ref.offset, ref.key_bytes),
                      bytes.substr(ref.offset + ref.key_bytes, ref.value_bytes),
                      {.flags = ref.flags, .ttl = Lifetime::Until(ref.expiry)}});
  }
  client_->PutMany(
      items_, [this](size_t index, const Client::PutResult& result) { OnStored(index, result); });
  // Another server's life would lack what this one's has.
  if (!failure_ && client_->stats().lives > 0) {
    failure_ = {line_numbers_.back(),
                {Code::kUnavailable, "the server went away for a while and may have lost items"}};
  }
  bytes_.clear();
  refs_.clear();
  line_numbers_.clear();
}

Outcome Loader::Conclude() const {
  if (failure_) {
    Error error = failure_->error;
    error.message = fmt::format("stopped at {}:{}: {}", name_, failure_->line, error.message);
    // Whatever the code: a load that stopped is no usage error and no item that was not found.
    if (error.code == Code::kInvalidArgument || error.code == Code::kNotFound) {
      error.code = Code::kSystem;
    }
    return std::unexpected(std::move(error));
  }
  if (rejected_ == 0) return {};
  const std::string others =
      rejected_ > kReportsMax ? fmt::format(", {} of them not shown", rejected_ - kReportsMax) : "";
  return Fail(Code::kSystem, fmt::format("{} {} left out{}: mend and load them again", rejected_,
                                         rejected_ == 1 ? "line was" : "lines were", others));
}

Outcome Loader::Run() {
  for (bool more = true; more && !failure_;) {
    more = FillBatch();
    if (!refs_.empty()) StoreBatch();
    progress_.Show(stored_, stored_bytes_);
  }
  progress_.Clear();
  return Conclude();
}

std::string Loader::Summary(bool json) const {
  const double seconds = progress_.seconds();
  const double rate = static_cast<double>(stored_) / seconds;
  if (!json) {
    const auto expired = expired_ == 0 ? "" : fmt::format(", {} had expired", expired_);
    return fmt::format("stored {} in {:.3f} s ({:.0f}/s){}\n", program::CountOf(stored_, "item"),
                       seconds, rate, expired);
  }
  program::Json object = program::Json::object();
  object["stored"] = stored_;
  object["left_out"] = rejected_;
  object["expired"] = expired_;
  object["lines"] = lines_->number();
  object["seconds"] = seconds;
  object["items_per_second"] = rate;
  return program::LineOf(object);
}

}  // namespace

Outcome Load(const Options& options, program::Output* output) {
  const std::string& path = options.words[0];
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FailErrno(fmt::format("cannot open {}", path), errno);
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  LineReader lines(fd, options.json_lines ? kJsonLineBytesMax : kLineBytesMax);
  Loader loader(&*client, &lines, options.json_lines ? ParseJsonLine : ParseLine,
                is_stdin ? "standard input" : Printable(path));
  const Outcome outcome = loader.Run();
  output->Write(loader.Summary(options.json));
  if (!is_stdin) ::close(fd);
  return outcome;
}

}  // namespace plov::cli
