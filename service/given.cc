#include "service/given.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "fabric/os.h"
#include "verify/quantity.h"

namespace plov::service {

namespace po = boost::program_options;

namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;

// What Boost has against a part of what the user wrote; nothing: it is good.
template <typename Read>
std::optional<std::string> Refusal(const std::string& written, const Read& read) {
  try {
    read();
  } catch (const po::error& error) {
    return HasPlaceholder(written) ? kPlaceholderError : error.what();
  }
  return std::nullopt;
}

// An option that came alone, as a line or a variable does.
std::optional<std::string> Refusal(const po::parsed_options& one, const std::string& written) {
  return Refusal(written, [&one] {
    po::variables_map alone;
    po::store(one, alone);
  });
}

bool IsOfCommandLine(std::string_view option) {
  return option == "help" || option == "version" || option == "config";
}

// Of a file that does not keep who reads it: a pipe may, and what has no end.
std::expected<std::string, Error> TextOf(const std::string& path) {
  const fabric::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return Fail(Code::kInvalidArgument, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return Fail(Code::kInvalidArgument, "it is not a regular file");
  std::string text(kFileBytesMax + 1, '\0');
  size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(Code::kInvalidArgument, std::strerror(errno));
    if (got == 0) break;
    bytes += static_cast<size_t>(got);
  }
  if (bytes > kFileBytesMax) return Fail(Code::kInvalidArgument, "it has more than 1 MiB");
  text.resize(bytes);
  return text;
}

}  // namespace

// PLOVD_MAX_VALUE is --max-value. Other variables with the prefix are not ours to judge.
std::string Given::VariableOf(const std::string& option) const {
  std::string name = option;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return sources_.variables + name;
}

std::expected<Given, Error> Given::Read(const po::options_description& known,
                                        const GivenSources& sources, int argc,
                                        const char* const* argv) {
  Given given(known, sources);
  // What is stored first wins.
  if (auto read = given.ReadCommandLine(argc, argv); !read) return std::unexpected(read.error());
  const char* variable = std::getenv(given.VariableOf("config").c_str());
  if (given.Has("config") || variable != nullptr) {
    const std::string path = given.Has("config") ? given.As<std::string>("config") : variable;
    if (auto read = given.ReadFile(path); !read) return std::unexpected(read.error());
  }
  if (auto read = given.ReadEnvironment(); !read) return std::unexpected(read.error());
  return given;
}

std::expected<Given, Error> Given::ReadCommandLineAlone(const po::options_description& known,
                                                        int argc, const char* const* argv) {
  Given given(known, {});
  if (auto read = given.ReadCommandLine(argc, argv); !read) return std::unexpected(read.error());
  return given;
}

std::map<std::string, std::string> Given::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [option, value] : values_) {
    if (value.defaulted()) continue;
    if (const auto* text = boost::any_cast<std::string>(&value.value())) {
      texts[option] = *text;
    } else {
      const auto& list = boost::any_cast<const std::vector<std::string>&>(value.value());
      for (const std::string& one : list) texts[option] += one + " ";
    }
  }
  return texts;
}

std::string Given::NameOf(const std::string& option) const {
  const auto name = names_.find(option);
  return name == names_.end() ? "--" + option : name->second;
}

Given::Outcome Given::ReadCommandLine(int argc, const char* const* argv) {
  std::string written;
  for (int i = 1; i < argc; ++i) written += argv[i];
  const auto refusal = Refusal(written, [&] {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(argc, argv).options(known_).style(style).positional({}).run(),
              values_);
  });
  if (refusal) return Fail(Code::kInvalidArgument, *refusal);
  return {};
}

// Line by line, since Boost does not say which one it is that it refuses.
Given::Outcome Given::ReadFile(const std::string& path) {
  const auto text = TextOf(path);
  if (!text) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("cannot read {} {}: {}", Has("config") ? "--config" : VariableOf("config"),
                    path, text.error().message));
  }
  po::parsed_options all(&known_);
  std::istringstream file(*text);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const auto wrong = [&](const std::string& what) {
      return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", path, number, what));
    };
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    if (line[begin] == '[') return wrong("there are no sections");
    po::parsed_options one(&known_);
    auto refusal = Refusal(line, [&] {
      std::istringstream alone(line);
      one = po::parse_config_file(alone, known_);
    });
    if (!refusal) refusal = Refusal(one, line);
    if (refusal) return wrong(*refusal);
    if (one.options.empty()) continue;
    const std::string& option = one.options.front().string_key;
    if (IsOfCommandLine(option)) return wrong(option + " is for the command line alone");
    if (names_.contains(option) && !sources_.repeated.contains(option))
      return wrong(option + " is there twice");
    if (IsLeft(option)) names_[option] = fmt::format("{}:{}: {}", path, number, option);
    all.options.push_back(one.options.front());
  }
  po::store(all, values_);
  return {};
}

Given::Outcome Given::ReadEnvironment() {
  for (const auto& described : known_.options()) {
    const std::string& option = described->long_name();
    if (IsOfCommandLine(option)) continue;
    const std::string name = VariableOf(option);
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) continue;
    po::parsed_options one(&known_);
    one.options.emplace_back(option, std::vector<std::string>{value});
    if (const auto refusal = Refusal(one, value)) {
      return Fail(Code::kInvalidArgument, fmt::format("{}: {}", name, *refusal));
    }
    if (IsLeft(option)) names_.try_emplace(option, name);
    po::store(one, values_);
  }
  return {};
}

}  // namespace plov::service
