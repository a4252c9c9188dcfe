// What `plov load` reads: lines, and items in lines.
//
// Properties: lines are those that a plain split finds; an item that is accepted is one that a
// server can store, and its line as `dump` writes it makes the same item again.
#include <unistd.h>

#include <string>
#include <vector>

#include "client/cli/json.h"
#include "client/cli/json_lines.h"
#include "client/cli/lines.h"
#include "fabric/os.h"
#include "tests/fuzz/input.h"
#include "verify/record.h"

namespace plov::fuzz {
namespace {

using cli::LineReader;

struct Parsed {
  std::string wrong = {};
  std::string key = {};
  std::string value = {};
  uint32_t flags = 0;
  uint32_t expiry = 0;

  bool operator==(const Parsed&) const = default;
};

using Parse = std::string(std::string_view, std::string*, cli::ItemRef*);

Parsed ParsedOf(std::string_view text, Parse parse) {
  std::string bytes = "before";
  cli::ItemRef ref{};
  Parsed parsed{.wrong = parse(text, &bytes, &ref)};
  Check(bytes.starts_with("before"), "what others appended stays");
  if (!parsed.wrong.empty()) {
    Check(bytes == "before", "a line that is no item appends nothing");
    return parsed;
  }
  parsed.key = bytes.substr(ref.offset, ref.key_bytes);
  parsed.value = bytes.substr(ref.offset + ref.key_bytes, ref.value_bytes);
  Check(ref.offset + ref.key_bytes + ref.value_bytes == bytes.size(), "lengths add up");
  parsed.flags = ref.flags;
  parsed.expiry = ref.expiry;
  return parsed;
}

// A line as `dump` writes it.
std::string LineOf(const Parsed& item, bool is_json) {
  std::string line;
  if (is_json) {
    Item stored;
    stored.value = item.value;
    stored.flags = item.flags;
    stored.expiry = item.expiry;
    line = program::LineOf(cli::JsonOf(item.key, stored));
  } else {
    cli::AppendLine(item.key, item.value, &line);
  }
  return line;
}

void TestLine(std::string_view text, bool is_json) {
  Parse* const parse = is_json ? cli::ParseJsonLine : cli::ParseLine;
  const Parsed parsed = ParsedOf(text, parse);
  if (!parsed.wrong.empty()) return;
  Check(!parsed.key.empty() && parsed.key.size() <= verify::kKeyBytesMax &&
            parsed.value.size() <= verify::kValueBytesMax,
        "an item has a size that a server may accept");
  std::string line = LineOf(parsed, is_json);
  Check(line.ends_with('\n') && line.find('\n') == line.size() - 1, "an item makes one line");
  line.pop_back();
  Check(ParsedOf(line, parse) == parsed, "dump and load give the same item");
}

fabric::Fd FileOf(std::string_view text) {
  auto fd = fabric::CreateMemory("plov-fuzz-load", text.size());
  Check(fd.has_value(), "a file");
  Check(::pwrite(fd->get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
        "its text");
  return std::move(*fd);
}

void TestFile(std::string_view text, size_t line_bytes_max) {
  const fabric::Fd file = FileOf(text);
  LineReader reader(file.get(), line_bytes_max);
  for (uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const LineReader::Line got = reader.Next();
    const bool fits = line.size() <= line_bytes_max;
    Check(got.kind == (fits ? LineReader::Kind::kLine : LineReader::Kind::kTooLong), "a line");
    Check(!fits || got.text == line, "the line that a split finds");
    Check(reader.number() == number, "lines are counted");
    if (!fits) continue;
    TestLine(line, false);
    TestLine(line, true);
  }
  Check(reader.Next().kind == LineReader::Kind::kEnd, "the end is the end");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  Input input(data, bytes);
  const size_t line_bytes_max = input.Take<uint8_t>();
  TestFile(TextOf(input.TakeRest()), line_bytes_max);
  return 0;
}
