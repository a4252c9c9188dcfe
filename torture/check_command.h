// plov-torture check FILE: checks a history that another program recorded.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "torture/excerpt.h"
#include "torture/recorded.h"
#include "torture/search_checker.h"

namespace plov::torture {

// A key whose history is wrong.
struct CheckFinding {
  std::string key;
  Excerpt excerpt;
};

struct Checked {
  size_t operations = 0;
  size_t keys = 0;
  std::vector<std::string> undecided;  // keys
  std::vector<CheckFinding> findings;

  // 0 pass, 1 violation, 4 nothing or not everything could be decided.
  int exit_status() const;
};

// commit: what a kill may lose; std::nullopt: as the file says, else nothing.
Checked CheckRecorded(const Recorded& recorded, std::optional<Commit> commit = {});

std::string CheckedText(const Checked& checked);
std::string CheckedJson(const Checked& checked, const std::string& file);

// words: those after "check". Returns the exit status.
int RunCheck(std::span<const std::string> words);

}  // namespace plov::torture
