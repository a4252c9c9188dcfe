#include "bench/page/markdown.h"

#include <fmt/core.h>

#include <filesystem>
#include <type_traits>

namespace plov::bench {

std::expected<void, Error> SaveMarkdown(const std::string& path, const Page& page) {
  const std::filesystem::path file(path);
  std::string text = fmt::format("## {}\n\n", page.title);
  for (const Fact& fact : page.facts) text += fmt::format("- {}: {}\n", fact.name, fact.value);
  std::expected<void, Error> saved;
  size_t pictures = 0;
  const auto add = [&](const auto& part) {
    using Type = std::decay_t<decltype(part)>;
    text += '\n';
    if constexpr (std::is_same_v<Type, Paragraph>) {
      text += part.text + "\n";
    } else if constexpr (std::is_same_v<Type, Table>) {
      text += MarkdownOf(part);
    } else {
      const std::string name = fmt::format("{}-{}.svg", file.stem().string(), ++pictures);
      text += fmt::format("![{}]({})\n", part.title, name);
      if (saved) saved = Save((file.parent_path() / name).string(), SvgOf(part));
    }
  };
  for (const Part& part : page.parts) std::visit(add, part);
  return saved ? Save(path, text) : saved;
}

}  // namespace plov::bench
