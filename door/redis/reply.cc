#include "door/redis/reply.h"

#include "door/redis/numbers.h"

namespace plov::door::redis {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

void AddCount(char kind, size_t count, std::string* to) {
  *to += kind;
  AppendInteger(static_cast<int64_t>(count), to);
  *to += kLineEnd;
}

}  // namespace

void AddInteger(int64_t number, std::string* to) {
  *to += ':';
  AppendInteger(number, to);
  *to += kLineEnd;
}

void AddBulk(std::string_view bytes, std::string* to) {
  AddCount('$', bytes.size(), to);
  *to += bytes;
  *to += kLineEnd;
}

void AddText(Resp resp, std::string_view text, std::string* to) {
  if (resp == Resp::k2) return AddBulk(text, to);
  constexpr std::string_view kFormat = "txt:";
  AddCount('=', text.size() + kFormat.size(), to);
  *to += kFormat;
  *to += text;
  *to += kLineEnd;
}

void AddNull(Resp resp, std::string* to) { *to += resp == Resp::k2 ? "$-1\r\n" : "_\r\n"; }

void AddArray(size_t count, std::string* to) { AddCount('*', count, to); }

void AddMap(Resp resp, size_t count, std::string* to) {
  if (resp == Resp::k2) return AddArray(count * 2, to);
  AddCount('%', count, to);
}

void AddError(std::string_view text, std::string* to) {
  *to += '-';
  const size_t end = text.find_last_not_of(kLineEnd);
  for (const char c : text.substr(0, end + 1)) *to += c == '\r' || c == '\n' ? ' ' : c;
  *to += kLineEnd;
}

void AddFailure(const Error& error, std::string* to) {
  switch (error.code) {
    case Code::kNoSpace:
      return AddError(kOutOfMemory, to);
    case Code::kTooLarge:
      return AddError(kTooLong, to);
    default:
      return AddError("ERR plov: " + error.message, to);
  }
}

}  // namespace plov::door::redis
