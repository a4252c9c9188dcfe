// Replies of Redis's protocol, RESP2 and RESP3.
#pragma once

#include <plov/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plov::door::redis {

enum class Resp : uint8_t { k2 = 2, k3 = 3 };

void AddInteger(int64_t number, std::string* to);
void AddBulk(std::string_view bytes, std::string* to);
// A text for people; in RESP3 it says so.
void AddText(Resp resp, std::string_view text, std::string* to);
void AddNull(Resp resp, std::string* to);
void AddArray(size_t count, std::string* to);
// Of so many pairs.
void AddMap(Resp resp, size_t count, std::string* to);
// `text` begins with the error's kind, "ERR ...". An end of line in it is a space.
void AddError(std::string_view text, std::string* to);
// Why the server could not do it.
void AddFailure(const Error& error, std::string* to);

inline constexpr std::string_view kOkReply = "+OK\r\n";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotAFloat = "ERR value is not a valid float";
inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kTooLong =
    "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
inline constexpr std::string_view kOutOfMemory =
    "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace plov::door::redis
