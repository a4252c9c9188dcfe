// vector: which of its commands, and each of them.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/elements.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/put.h"
#include "client/cli/report.h"
#include "program/nearest.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

// In the order of VectorFunction and of Comparison, whose first is 1.
constexpr auto kFunctions =
    std::to_array<std::string_view>({"assign", "add", "min", "max", "and", "or", "xor"});
constexpr auto kComparisons = std::to_array<std::string_view>({"eq", "ne", "lt", "le", "gt", "ge"});

// Every element takes fewer bytes of text for each of its own.
constexpr size_t kTextBytesMax = 8 * verify::kValueBytesMax;
constexpr std::string_view kBlanks = " \t\n\r\v\f";

template <typename Enum>
std::expected<Enum, Error> Named(std::span<const std::string_view> names, std::string_view what,
                                 const std::string& word) {
  const auto found = std::ranges::find(names, word);
  if (found != names.end()) return static_cast<Enum>(found - names.begin() + 1);
  std::string message = fmt::format("no {} '{}': one of", what, word);
  for (const auto name : names) message.append(name == names.front() ? " " : ", ").append(name);
  return Fail(Code::kInvalidArgument, message);
}

VectorSlice SliceOf(const Options& options) {
  return {options.first, options.count.value_or(VectorSlice::kToEnd)};
}

// The error of a call about a vector.
std::unexpected<Error> Failed(Error error, const Options& options) {
  const std::string& key = options.words[1];
  if (error.code == Code::kNotFound) return NoItem(key);
  if (error.code == Code::kVersionMismatch && options.put.expected_version != 0) {
    error.message = HasOtherVersion(key, options.put.expected_version);
  }
  return std::unexpected(std::move(error));
}

std::unexpected<Error> NoVector(std::string_view key) {
  return Fail(Code::kWrongType, fmt::format("the value of the key '{}' is no vector", key));
}

// That of the vector which is there. The server reads no element for it.
std::expected<ElementType, Error> TypeOfVector(const Options& options, Client* client) {
  const auto nothing = client->ReduceVector(options.words[1], VectorFunction::kMax, {0, 0});
  if (!nothing && nothing.error().code == Code::kWrongType) return NoVector(options.words[1]);
  if (!nothing) return Failed(nothing.error(), options);
  return nothing->type;
}

std::expected<std::string, Error> ElementsOf(ElementType type, std::span<const std::string> words) {
  std::string bytes;
  for (const std::string& word : words) {
    if (auto good = AppendElement(type, word, &bytes); !good) return std::unexpected(good.error());
  }
  return bytes;
}

std::unexpected<Error> TooManyElements() {
  return Fail(Code::kTooLarge,
              fmt::format("the vector is over {} MiB, the largest possible: store it in parts",
                          verify::kValueBytesMax >> 20));
}

std::expected<std::string, Error> ReadElements(ElementType type) {
  const auto text = ReadStandardInput(kTextBytesMax);
  if (!text) return std::unexpected(text.error());
  if (text->size() > kTextBytesMax) return TooManyElements();
  std::string bytes;
  for (size_t at = 0; (at = text->find_first_not_of(kBlanks, at)) != text->npos;) {
    const size_t end = std::min(text->find_first_of(kBlanks, at), text->size());
    const auto word = std::string_view(*text).substr(at, end - at);
    if (auto good = AppendElement(type, word, &bytes); !good) return std::unexpected(good.error());
    at = end;
  }
  return bytes;
}

program::Json JsonOfVector(const std::string& key, ElementType type, Version version) {
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  object["type"] = TypeName(type);
  object["version"] = version;
  return object;
}

Outcome PutVector(const Options& options, program::Output* output) {
  const auto type = Named<ElementType>(kElementTypes, "type", options.words[2]);
  if (!type) return std::unexpected(type.error());
  const auto words = std::span(options.words).subspan(3);
  const auto elements = words.empty() ? ReadElements(*type) : ElementsOf(*type, words);
  if (!elements) return std::unexpected(elements.error());
  const std::string value = VectorValue(*type, *elements);
  if (value.size() > verify::kValueBytesMax) return TooManyElements();
  return StoreValue(options, options.words[1], value, output);
}

Outcome GetVector(const Options& options, program::Output* output) {
  const std::string& key = options.words[1];
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto hit = (*client)->Get(key);
  if (!hit) return std::unexpected(hit.error());
  if (!*hit) return NoItem(key);
  const auto vector = VectorView::Of((*hit)->value);
  if (!vector) return NoVector(key);
  const VectorSlice slice = SliceOf(options);
  const auto end = slice.EndOf(vector->size());
  if (!end) return Fail(Code::kOutOfRange, "the slice goes beyond the vector's end");
  const size_t element_bytes = ElementBytes(vector->type());
  const auto bytes =
      vector->bytes().substr(slice.first * element_bytes, (*end - slice.first) * element_bytes);
  if (options.json) {
    program::Json object = JsonOfVector(key, vector->type(), (*hit)->version);
    object["elements"] = ElementsJson(vector->type(), bytes);
    output->Write(program::LineOf(object));
    return {};
  }
  for (size_t at = 0; at < bytes.size(); at += element_bytes) {
    output->Write(ElementText(vector->type(), bytes.substr(at)) + "\n");
  }
  return {};
}

Outcome UpdateElements(const Options& options, program::Output* output) {
  const std::string& key = options.words[1];
  const auto function = Named<VectorFunction>(kFunctions, "function", options.words[2]);
  if (!function) return std::unexpected(function.error());
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto type = TypeOfVector(options, *client);
  if (!type) return std::unexpected(type.error());
  const auto elements = ElementsOf(*type, std::span(options.words).subspan(3));
  if (!elements) return std::unexpected(elements.error());
  const auto version = (*client)->UpdateVector(
      key, *function, VectorOperand(*type, *elements),
      {.slice = SliceOf(options), .expected_version = options.put.expected_version});
  if (!version) return Failed(version.error(), options);
  if (options.json) output->Write(program::LineOf(JsonOfWrite(key, *version)));
  return {};
}

// As an element. Of floats all but their sum is one of them.
VectorOperand ResultOf(const Reduced& reduced, VectorFunction function) {
  if (reduced.type == ElementType::kFloat && function != VectorFunction::kAdd) {
    return static_cast<float>(std::get<double>(reduced.value));
  }
  return std::visit([](auto value) { return VectorOperand(value); }, reduced.value);
}

Outcome ReduceElements(const Options& options, program::Output* output) {
  const std::string& key = options.words[1];
  const auto function = Named<VectorFunction>(kFunctions, "function", options.words[2]);
  if (!function) return std::unexpected(function.error());
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto reduced = (*client)->ReduceVector(key, *function, SliceOf(options));
  if (!reduced) return Failed(reduced.error(), options);
  const VectorOperand result = ResultOf(*reduced, *function);
  if (options.json) {
    program::Json object = JsonOfVector(key, reduced->type, reduced->version);
    object["count"] = reduced->count;
    object["result"] = ElementJson(result.type(), result.bytes());
    output->Write(program::LineOf(object));
    return {};
  }
  output->Write(ElementText(result.type(), result.bytes()) + "\n");
  return {};
}

Outcome FilterElements(const Options& options, program::Output* output) {
  const std::string& key = options.words[1];
  const auto comparison = Named<Comparison>(kComparisons, "comparison", options.words[2]);
  if (!comparison) return std::unexpected(comparison.error());
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto type = TypeOfVector(options, *client);
  if (!type) return std::unexpected(type.error());
  const auto element = ElementsOf(*type, std::span(options.words).subspan(3));
  if (!element) return std::unexpected(element.error());
  const auto found =
      (*client)->FilterVector(key, *comparison, VectorOperand(*type, *element), SliceOf(options));
  if (!found) return Failed(found.error(), options);
  if (options.json) {
    program::Json object = JsonOfVector(key, *type, found->version);
    object["indexes"] = found->indexes;
    object["elements"] = ElementsJson(*type, found->bytes);
    output->Write(program::LineOf(object));
    return {};
  }
  std::string_view bytes = found->bytes;
  for (const uint32_t index : found->indexes) {
    output->Write(fmt::format("{} {}\n", index, ElementText(*type, bytes)));
    bytes.remove_prefix(ElementBytes(*type));
  }
  return {};
}

struct VectorCommand {
  std::string_view name;
  std::string_view words;
  size_t words_min;
  size_t words_max;
  bool stores;       // takes the options of put
  bool takes_slice;  // --first and --count
  bool takes_version;
  Outcome (*run)(const Options& options, program::Output* output);
};

constexpr auto kVectorCommands = std::to_array<VectorCommand>({
    {"put", "KEY TYPE [ELEMENT...]", 2, SIZE_MAX, true, false, true, PutVector},
    {"get", "KEY", 1, 1, false, true, false, GetVector},
    {"update", "KEY FUNCTION ELEMENT...", 3, SIZE_MAX, false, true, true, UpdateElements},
    {"reduce", "KEY FUNCTION", 2, 2, false, true, false, ReduceElements},
    {"filter", "KEY COMPARISON ELEMENT", 3, 3, false, true, false, FilterElements},
});

Outcome NotOf(const VectorCommand& command, std::string_view options) {
  return Fail(Code::kInvalidArgument,
              fmt::format("vector {} takes no {} (try plov vector --help)", command.name, options));
}

Outcome CheckVectorCommand(const VectorCommand& command, const Options& options) {
  const size_t words = options.words.size() - 1;
  if (words < command.words_min || words > command.words_max) {
    return Fail(Code::kInvalidArgument,
                fmt::format("usage: plov vector {} {} (try plov vector --help)", command.name,
                            command.words));
  }
  const PutOptions& put = options.put;
  const bool is_stored =
      put.ttl.duration().count() != 0 || put.flags != 0 || put.mode != PutMode::kSet;
  const bool has_slice = options.first != 0 || options.count;
  if (is_stored && !command.stores) return NotOf(command, "--ttl, --flags, --add or --replace");
  if (has_slice && !command.takes_slice) return NotOf(command, "--first or --count");
  if (put.expected_version != 0 && !command.takes_version) return NotOf(command, "--if-version");
  return CheckKey(options.words[1]);
}

}  // namespace

Outcome Vector(const Options& options, program::Output* output) {
  const std::string& word = options.words[0];
  const auto command = std::ranges::find(kVectorCommands, word, &VectorCommand::name);
  if (command == kVectorCommands.end()) {
    std::vector<std::string> names;
    for (const VectorCommand& each : kVectorCommands) names.emplace_back(each.name);
    return Fail(Code::kInvalidArgument,
                fmt::format("no command 'vector {}'{} (try plov vector --help)", word,
                            program::DidYouMean(word, names)));
  }
  if (auto good = CheckVectorCommand(*command, options); !good) return good;
  return command->run(options, output);
}

}  // namespace plov::cli
