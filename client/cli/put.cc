#include "client/cli/put.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/report.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

std::unexpected<Error> TooLarge() {
  return Fail(Code::kTooLarge, fmt::format("the value is over {} MiB, the largest possible: store "
                                           "it in parts",
                                           verify::kValueBytesMax >> 20));
}

std::expected<std::string, Error> ValueOf(const Options& options) {
  const bool reads = options.words.size() < 2 || options.words[1] == "-";
  auto value = reads ? ReadStandardInput(verify::kValueBytesMax) : options.words[1];
  if (value && value->size() > verify::kValueBytesMax) return TooLarge();
  return value;
}

// The library cannot know by which option the condition was set.
Error Refused(Error error, const std::string& key, const Options& options) {
  if (error.code == Code::kExists) {
    error.message = fmt::format("the key '{}' is there already: --replace would overwrite it", key);
  } else if (error.code == Code::kNotFound) {
    const bool joins = options.put.mode >= PutMode::kAppend;
    error.message =
        fmt::format("no item has the key '{}': --{} would store it", key, joins ? "create" : "add");
  } else if (error.code == Code::kVersionMismatch && options.if_value) {
    error.message = fmt::format("the key '{}' does not have that value", key);
    if (options.put.expected_version != 0) {
      error.message += fmt::format(", or not version {}", options.put.expected_version);
    }
  } else if (error.code == Code::kVersionMismatch) {
    error.message = HasOtherVersion(key, options.put.expected_version);
  }
  return error;
}

Outcome Store(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  const auto value = ValueOf(options);
  if (!value) return std::unexpected(value.error());
  return StoreValue(options, key, *value, output);
}

Outcome Join(Options options, PutMode mode, PutMode creating_mode, program::Output* output) {
  options.put.mode = options.creates ? creating_mode : mode;
  return Store(options, output);
}

}  // namespace

std::expected<std::string, Error> ReadStandardInput(size_t bytes_max) {
  std::string text;
  std::array<char, 65536> chunk;
  while (text.size() <= bytes_max) {
    const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("cannot read the value from standard input", errno);
    if (got == 0) break;
    text.append(chunk.data(), static_cast<size_t>(got));
  }
  return text;
}

Outcome StoreValue(const Options& options, const std::string& key, std::string_view value,
                   program::Output* output) {
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  PutOptions put = options.put;
  put.expected_value = options.if_value;
  const auto version = (*client)->Put(key, value, put);
  if (!version) return std::unexpected(Refused(version.error(), key, options));
  if (options.json) output->Write(program::LineOf(JsonOfWrite(key, *version)));
  return {};
}

Outcome Put(const Options& options, program::Output* output) { return Store(options, output); }

Outcome Append(const Options& options, program::Output* output) {
  return Join(options, PutMode::kAppend, PutMode::kAppendOrAdd, output);
}

Outcome Prepend(const Options& options, program::Output* output) {
  return Join(options, PutMode::kPrepend, PutMode::kPrependOrAdd, output);
}

Outcome Delete(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto deleted = (*client)->Delete(key, options.put.expected_version);
  if (!deleted) return std::unexpected(Refused(deleted.error(), key, options));
  if (options.json) {
    program::Json object = program::Json::object();
    AddBytes("key", key, &object);
    object["deleted"] = *deleted;
    output->Write(program::LineOf(object));
  }
  if (*deleted) return {};
  return NoItem(key);
}

}  // namespace plov::cli
