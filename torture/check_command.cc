#include "torture/check_command.h"

#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <sstream>

#include "program/given.h"
#include "torture/report.h"

namespace plov::torture {

namespace po = boost::program_options;

namespace {

constexpr int kExitUsage = 2;
constexpr int kExitCannotRead = 3;

po::options_description Described() {
  po::options_description options("Options", 100);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  // clang-format off
  options.add_options()
      ("commit", text("strict|acked|async"), "what a kill of the store may lose: strict nothing, acked what was only read, async any last writes (as FILE says, else strict)")
      ("html", text("FILE"), "write what is wrong there, as a page")
      ("json", text("FILE"), "write the verdict there")
      ("help,h", po::bool_switch(), "print this help and exit");
  // clang-format on
  return options;
}

std::string HelpText() {
  std::ostringstream text;
  text
      << "plov-torture check - checks a recorded history of any store\n\n"
         "Usage: plov-torture check [OPTION]... FILE\n\n"
      << Described()
      << "\nFILE is a history of one register, or of many by key: EDN as Jepsen writes it, or JSON "
         "as\nplov-torture does.\n"
         "Exit status: 0 pass, 1 violation, 2 usage, 3 FILE cannot be read, 4 undecided or "
         "empty.\n";
  return text.str();
}

int Complain(const Error& error, int exit_status) {
  fmt::print(stderr, "plov-torture: {}\n", error.message);
  return exit_status;
}

std::expected<void, Error> Save(const Checked& checked, const program::Given& given) {
  if (given.Has("json")) {
    auto written = WriteFile(given.Text("json"), CheckedJson(checked, given.Text("file")));
    if (!written) return written;
  }
  if (!given.Has("html")) return {};
  std::vector<Excerpt> excerpts;
  for (const CheckFinding& finding : checked.findings) excerpts.push_back(finding.excerpt);
  const std::string facts[] = {fmt::format("operations: {}, keys: {}, violations: {}",
                                           checked.operations, checked.keys,
                                           checked.findings.size())};
  return WriteFile(given.Text("html"),
                   TimelinePage("History " + given.Text("file"), facts, excerpts));
}

}  // namespace

int RunCheck(std::span<const std::string> words) {
  auto described = Described();
  described.add_options()("file", po::value<std::string>(), "");
  const auto given = program::Given::Parse(described, words, "plov-torture check", "file");
  if (!given) return Complain(given.error(), kExitUsage);
  if (given->On("help")) {
    fmt::print("{}", HelpText());
    return 0;
  }
  for (const char* name : {"file", "json", "html"}) {
    const bool is_needed = std::string_view(name) == "file" || given->Has(name);
    if (is_needed && given->Text(name).empty()) {
      return Complain(given->Invalid(fmt::format("name a {}", name)).error(), kExitUsage);
    }
  }
  std::optional<Commit> commit;
  if (given->Has("commit")) {
    commit = CommitNamed(given->Text("commit"));
    if (!commit)
      return Complain(given->Invalid("--commit is strict, acked or async").error(), kExitUsage);
  }
  const auto recorded = ReadRecorded(given->Text("file"));
  if (!recorded) return Complain(recorded.error(), kExitCannotRead);
  const Checked checked = CheckRecorded(*recorded, commit);
  fmt::print("{}", CheckedText(checked));
  const auto saved = Save(checked, *given);
  if (!saved) Complain(saved.error(), kExitCannotRead);
  return saved || checked.exit_status() == 1 ? checked.exit_status() : kExitCannotRead;
}

}  // namespace plov::torture
