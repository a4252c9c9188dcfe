// A C library that forgets what PLOV_FORGETS names, for tests/power/cut.sh --forget, which has to
// notice it: dsync (O_DSYNC of open), files (fdatasync), names (fsync, which plovd calls for folders).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

bool Forgets(const char* what) {
  const char* named = std::getenv("PLOV_FORGETS");
  return named != nullptr && std::strcmp(named, what) == 0;
}

int Sync(const char* what, const char* name, int fd) {
  if (Forgets(what)) return 0;
  using Call = int (*)(int);
  static const auto call = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
  return call(fd);
}

}  // namespace

extern "C" {

int fdatasync(int fd) { return Sync("files", "fdatasync", fd); }
int fsync(int fd) { return Sync("names", "fsync", fd); }

int openat(int folder, const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (Forgets("dsync")) flags &= ~O_DSYNC;
  using Call = int (*)(int, const char*, int, ...);
  static const auto call = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "openat"));
  return call(folder, path, flags, mode);
}
}
