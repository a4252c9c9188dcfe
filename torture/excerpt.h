// Excerpt: the operations around a violation, as they are shown: in text, and on a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

struct ExcerptRow {
  Instant start = 0;
  Instant end = 0;  // of an open one it is not looked at
  bool is_open = false;
  bool stores = false;         // it writes or deletes
  bool is_impossible = false;  // it is the one that fits into no order
  std::string process;
  std::string call;    // "PUT p0#1"
  std::string result;  // "ok, version 5"
};

struct Excerpt {
  std::string title;                  // "key 7: one version was seen with two values, at 40 ns"
  std::string before;                 // what was there before: "absent", "anything"
  Instant instant = 0;                // of the violation
  bool is_minimal = true;             // nothing can be left out
  std::vector<ExcerptRow> rows = {};  // by start
};

// The row of a restart of the server that was killed.
ExcerptRow KillRow(Instant at);
// Before those that start at the same instant.
void AddRow(ExcerptRow row, Excerpt* excerpt);

// One line per operation in the order of their starts, with a bar for its interval:
//
//   key 7: one version was seen with two values, at 40 ns
//   before: absent
//     |---------|         10..30   p0  PUT p0#1            ok, version 5
//               |>        30..     p1  DELETE              unknown
//
// The bars show the order of starts and ends, not their distances. Of more than rows_max rows those
// nearest before the violation are shown, and it says so.
std::string TimelineText(const Excerpt& excerpt, size_t rows_max = SIZE_MAX);

// A page without any other file: for each excerpt one line per process, time to the right, the
// impossible operation marked. title: of the page; facts: lines of text before the excerpts.
std::string TimelinePage(const std::string& title, std::span<const std::string> facts,
                         std::span<const Excerpt> excerpts);

}  // namespace plov::torture
