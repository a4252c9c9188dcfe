// Output: standard output, buffered, that remembers the first write that failed.
#pragma once

#include <plov/error.h>

#include <expected>
#include <string>
#include <string_view>

namespace plov::cli {

class Output {
 public:
  explicit Output(int fd = 1) : fd_(fd) {}
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
  int error_number_ = 0;
  std::string buffer_;
};

// Writes all of `bytes`; returns 0 or errno.
int WriteAll(int fd, std::string_view bytes);

// Occupies the standard file descriptors that are closed, so that nothing else gets their numbers;
// using them fails as it would have.
void OccupyStandardFiles();

}  // namespace plov::cli
