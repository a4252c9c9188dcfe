// Output: standard output, buffered, that remembers the first write that failed.
//
// Others store keys and values, and a terminal obeys control characters: what goes to one is shown,
// not obeyed. Everything else, a pipe or a file, gets every byte as it is.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "fabric/standard_files.h"
#include "verify/error.h"

namespace plov::program {

// A program calls it first.
using fabric::OccupyStandardFiles;

class Output {
 public:
  explicit Output(int fd = 1);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view bytes);

  // False once a write failed: nothing more will be written.
  bool good() const { return error_number_ == 0; }

  // Writes what is buffered. kSystem when this or a write before failed.
  std::expected<void, Error> Finish();

 private:
  void Flush();

  int fd_;
  bool is_terminal_;
  int error_number_ = 0;
  std::string buffer_;
};

// Text that moves no cursor but by tab and newline: other control characters (C0, DEL, C1), and bytes
// that are no UTF-8, as \xNN.
std::string ForTerminal(std::string_view text);

// Writes all of `bytes`; returns 0 or errno.
int WriteAll(int fd, std::string_view bytes);

}  // namespace plov::program
