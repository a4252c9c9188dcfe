// Finding: one thing that `plov doctor` has to say.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plov::cli {

enum class Severity {
  kOk,
  kNote,     // works, though not as well as it could, or not everything
  kProblem,  // keeps plov from working
};

struct Finding {
  Severity severity;
  std::string subject;
  std::string meaning;
  std::string mend;  // a command; empty for kOk, and where no command can help
};

class Findings {
 public:
  void Ok(std::string subject, std::string meaning) {
    Add({Severity::kOk, std::move(subject), std::move(meaning), ""});
  }
  void Note(std::string subject, std::string meaning, std::string mend) {
    Add({Severity::kNote, std::move(subject), std::move(meaning), std::move(mend)});
  }
  void Problem(std::string subject, std::string meaning, std::string mend) {
    Add({Severity::kProblem, std::move(subject), std::move(meaning), std::move(mend)});
  }

  const std::vector<Finding>& all() const { return all_; }
  // Whether there is a problem with a subject that begins so.
  bool HasProblem(std::string_view subject) const {
    return std::ranges::any_of(all_, [subject](const Finding& finding) {
      return finding.severity == Severity::kProblem && finding.subject.starts_with(subject);
    });
  }

 private:
  void Add(Finding finding) { all_.push_back(std::move(finding)); }

  std::vector<Finding> all_;
};

}  // namespace plov::cli
