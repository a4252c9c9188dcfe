// Finding: one thing that `plov doctor` has to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plov::cli {

enum class Verdict {
  kOk,
  kNote,     // works, though not as well as it could, or not everything
  kProblem,  // keeps plov from working
};

struct Finding {
  Verdict verdict;
  std::string subject;
  std::string meaning;
  std::string mend;  // a command; empty for kOk, and where no command can help
};

class Findings {
 public:
  void Ok(std::string subject, std::string meaning) {
    Add({Verdict::kOk, std::move(subject), std::move(meaning), ""});
  }
  void Note(std::string subject, std::string meaning, std::string mend) {
    Add({Verdict::kNote, std::move(subject), std::move(meaning), std::move(mend)});
  }
  void Problem(std::string subject, std::string meaning, std::string mend) {
    Add({Verdict::kProblem, std::move(subject), std::move(meaning), std::move(mend)});
  }

  const std::vector<Finding>& all() const { return all_; }

 private:
  void Add(Finding finding) { all_.push_back(std::move(finding)); }

  std::vector<Finding> all_;
};

}  // namespace plov::cli
