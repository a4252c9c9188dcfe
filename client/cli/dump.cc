// dump and scan.

#include <string>
#include <string_view>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"
#include "client/cli/scans.h"

namespace plov::cli {

namespace {

// Replaces `*line`.
using WriteLine = void (*)(std::string_view key, const Item& item, std::string* line);

void ItemJson(std::string_view key, const Item& item, std::string* line) {
  *line = program::LineOf(JsonOf(key, item));
}

void ItemText(std::string_view key, const Item& item, std::string* line) {
  line->clear();
  AppendLine(key, item.value, line);
}

void KeyJson(std::string_view key, const Item& item, std::string* line) {
  *line = program::LineOf(JsonOfKey(key, item));
}

void KeyText(std::string_view key, const Item&, std::string* line) {
  line->clear();
  AppendEscaped(key, line);
  *line += '\n';
}

// Of the items whose keys start with `prefix`.
Outcome WriteLines(const Options& options, std::string_view prefix, WriteLine write_line,
                   program::Output* output) {
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  std::string line;
  const auto summary = client->Scan([&](std::string_view key, const Item& item) {
    if (!key.starts_with(prefix)) return true;
    write_line(key, item, &line);
    output->Write(line);
    return output->good();
  });
  if (!summary) return std::unexpected(summary.error());
  if (!output->good()) return {};  // Finish tells it
  return Conclude(options, *summary);
}

}  // namespace

Outcome Dump(const Options& options, program::Output* output) {
  return WriteLines(options, "", options.json ? ItemJson : ItemText, output);
}

Outcome Scan(const Options& options, program::Output* output) {
  const std::string_view prefix = options.words.empty() ? "" : std::string_view(options.words[0]);
  const WriteLine item = options.json ? ItemJson : ItemText;
  const WriteLine key = options.json ? KeyJson : KeyText;
  return WriteLines(options, prefix, options.values ? item : key, output);
}

}  // namespace plov::cli
