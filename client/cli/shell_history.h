// ShellHistory: the lines that users typed, kept in a file that only they can read. A file that cannot be
// read or written is passed over: nothing depends on it.
#pragma once

#include <histedit.h>

#include <string>

namespace plov::cli {

class ShellHistory {
 public:
  // Loads them.
  ShellHistory();
  ~ShellHistory();
  ShellHistory(const ShellHistory&) = delete;
  ShellHistory& operator=(const ShellHistory&) = delete;

  // And saves them all: who is killed has not lost any.
  void Add(const std::string& line);

  ::History* get() const { return history_; }  // nullptr: memory ran out

 private:
  ::History* history_;
  std::string path_;  // empty: there is no place for it
};

}  // namespace plov::cli
