// Standard files that are closed: what opens a file next gets the number of one, and what a program
// prints goes into it. In a header, for programs that are linked with the client's library alone.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace plov::fabric {

// Occupies those that are closed. What reads or writes them fails as it would have: they are open for
// the other direction. But what is said to standard error is lost: there is nobody to tell of that.
inline void OccupyStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {  // the lowest free one is it
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened =
        ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace plov::fabric
