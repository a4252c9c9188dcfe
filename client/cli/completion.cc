#include "client/cli/completion.h"

#include <algorithm>
#include <sstream>

#include "client/cli/commands.h"
#include "client/cli/options.h"

namespace plov::cli {

namespace {

std::vector<std::string> CommandWords() {
  std::vector<std::string> names = {"exit", "help", "quit"};
  for (const Command& command : Commands()) names.emplace_back(command.name);
  std::ranges::sort(names);
  return names;
}

// The options of the command among the words, or commands where there is none yet; nothing where a key
// or a value goes.
std::vector<std::string> NamesFor(const std::vector<std::string>& words, std::string_view last) {
  const Command* command = nullptr;
  for (const std::string& word : words) {
    if (command == nullptr) command = FindCommand(word);
  }
  if (last.starts_with("--")) return OptionNames(command);
  const bool asks_help = !words.empty() && words.back() == "help";
  return command == nullptr || asks_help ? CommandWords() : std::vector<std::string>();
}

size_t CommonBytes(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Completion Complete(std::string_view before) {
  const size_t start = before.find_last_of(" \t") + 1;  // npos + 1 is 0
  const std::string_view last = before.substr(start);
  std::istringstream text{std::string(before.substr(0, start))};
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  Completion completion;
  for (std::string& name : NamesFor(words, last)) {
    if (name.starts_with(last)) completion.names.push_back(std::move(name));
  }
  if (completion.names.empty()) return completion;
  std::string common = completion.names.front();
  for (const std::string& name : completion.names) common.resize(CommonBytes(common, name));
  completion.rest = common.substr(last.size());
  if (completion.names.size() == 1) completion.rest += ' ';
  return completion;
}

}  // namespace plov::cli
