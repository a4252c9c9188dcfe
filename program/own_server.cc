#include "program/own_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace plov::program {

namespace {

namespace files = std::filesystem;

constexpr std::chrono::seconds kReadyWithin{60};
constexpr size_t kLogBytes = 2000;  // as much of the end as one looks at

bool IsReady(std::string_view said) {
  return said.starts_with("plovd: ready on ") && said.ends_with('\n');
}

}  // namespace

std::string BucketBytesText(uint32_t bucket_bytes) {
  if (bucket_bytes == kBucketsInTurn) return "in turn";
  return bucket_bytes == 0 ? "auto" : std::to_string(bucket_bytes);
}

std::vector<std::string> OwnServer::Arguments() const {
  uint32_t bucket_bytes = options_.bucket_bytes;
  if (bucket_bytes == kBucketsInTurn) {
    bucket_bytes = std::array<uint32_t, 3>{0, 128, 64}[empty_lives_ % 3];
  }
  std::vector<std::string> arguments = {options_.plovd,
                                        "--listen",
                                        uri(),
                                        "--log-level",
                                        "warn",
                                        "--spin-us",
                                        std::to_string(options_.spin_us),
                                        "--memory",
                                        std::to_string(options_.memory_bytes),
                                        "--max-value",
                                        std::to_string(options_.max_value_bytes),
                                        options_.member ? "--max-shards" : "--shards",
                                        std::to_string(options_.shards),
                                        "--bucket-bytes",
                                        BucketBytesText(bucket_bytes)};
  if (options_.member) {
    const auto& [coordinator, id, cuts] = *options_.member;
    arguments.insert(arguments.end(), {"--cluster", coordinator, "--id", id, "--test-cuts", cuts});
  }
  if (options_.huge_pages) arguments.emplace_back("--hugepages");
  if (options_.evicts) arguments.emplace_back("--evict");
  if (!options_.log.empty()) arguments.insert(arguments.end(), {"--log", options_.log});
  if (options_.is_warm) arguments.insert(arguments.end(), {"--warm", path("memory")});
  return arguments;
}

std::expected<void, Error> OwnServer::Start(Life life) {
  std::error_code ignored;
  const bool loses_memory = life == Life::kEmpty || life == Life::kCold;
  for (uint32_t shard = 0; loses_memory && shard < options_.shards; ++shard) {
    files::remove(path("memory") + (shard == 0 ? "" : "." + std::to_string(shard)), ignored);
  }
  if (life == Life::kEmpty) ++empty_lives_;
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return Fail(Code::kSystem, "cannot make a pipe");
  const int log = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  auto started = Process::Start(Arguments(), {.output = pipe[1], .errors = log});
  ::close(pipe[1]);
  ::close(log);
  std::expected<void, Error> ready;
  if (started) {
    process_ = std::move(*started);
    ready = AwaitReady(pipe[0]);
  } else {
    ready = Fail(Code::kUnavailable,
                 options_.plovd + " did not start: " + std::move(started.error().message));
  }
  ::close(pipe[0]);
  return ready;
}

std::expected<void, Error> OwnServer::AwaitReady(int output) {
  const std::string said = ReadUntil(output, IsReady, kReadyWithin);
  if (IsReady(said)) return {};
  process_->Kill();
  return Fail(Code::kUnavailable, options_.plovd + " did not start: " + said + Log());
}

std::string OwnServer::Log() const {
  std::ifstream file(path("log"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() > kLogBytes) text = text.substr(text.size() - kLogBytes);
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "it said nothing" : text;
}

std::string FindPlovd() {
  const files::path folder = files::path(OwnPath()).parent_path();
  const auto beside = {folder / "plovd", folder.parent_path() / "sbin/plovd",
                       folder.parent_path() / "server/plovd"};
  for (const files::path& place : beside) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return FindInPath("plovd");
}

}  // namespace plov::program
