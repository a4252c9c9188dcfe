// Commands about the connection: PING, ECHO, SELECT, QUIT, RESET, HELLO, AUTH, CLIENT.

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "door/redis/command.h"
#include "door/redis/numbers.h"

namespace plov::door::redis {

namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view kBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

bool IsName(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

// What HELLO says of the server.
std::string Greeting(const Session& session) {
  const auto add = [](std::string_view name, std::string* to) { AddBulk(name, to); };
  std::string reply;
  AddMap(session.resp, 7, &reply);
  add("server", &reply);
  AddBulk("redis", &reply);
  add("version", &reply);
  AddBulk(kVersion, &reply);
  add("proto", &reply);
  AddInteger(static_cast<int64_t>(session.resp), &reply);
  add("id", &reply);
  AddInteger(static_cast<int64_t>(session.id), &reply);
  add("mode", &reply);
  AddBulk("standalone", &reply);
  add("role", &reply);
  AddBulk("master", &reply);
  add("modules", &reply);
  AddArray(0, &reply);
  return reply;
}

// The words behind HELLO's number. False: they are wrong, which has been said.
bool TakeHelloWords(const Call& call, std::string* name) {
  for (size_t i = 2; i < call.count(); ++i) {
    const size_t more = call.count() - i - 1;
    if (IsWord(call[i], "auth") && more >= 2) {
      if (call[i + 1] != "default") {
        call.Refuse(kWrongPassword);
        return false;
      }
      i += 2;
    } else if (IsWord(call[i], "setname") && more >= 1) {
      *name = call[++i];
      if (!IsName(*name)) {
        call.Refuse(kBadName);
        return false;
      }
    } else {
      call.Refuse("ERR Syntax error in HELLO option '" + std::string(call[i]) + "'");
      return false;
    }
  }
  return true;
}

// A line of CLIENT LIST.
std::string Line(const Call& call) {
  const Session& session = call.session();
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::steady_clock::now() - session.began_at);
  return "id=" + std::to_string(session.id) + " addr= laddr= fd=-1 name=" + session.name +
         " age=" + std::to_string(age.count()) +
         " idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0"
         " multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=client|" +
         (IsWord(call[1], "info") ? "info" : "list") +
         " user=default redir=-1 resp=" + std::to_string(static_cast<int>(session.resp)) + "\n";
}

void ClientId(Call& call) {
  std::string reply;
  AddInteger(static_cast<int64_t>(call.session().id), &reply);
  call.Answer(reply);
}

void ClientGetName(Call& call) {
  std::string reply;
  if (call.session().name.empty()) {
    AddNull(call.resp(), &reply);
  } else {
    AddBulk(call.session().name, &reply);
  }
  call.Answer(reply);
}

void ClientSetName(Call& call) {
  if (!IsName(call[2])) return call.Refuse(kBadName);
  call.session().name = call[2];
  call.Answer(kOkReply);
}

// Of newer Redis: the library's name and version, which nobody asks for.
void ClientSetInfo(Call& call) { call.Answer(kOkReply); }

void ClientLine(Call& call) {
  std::string reply;
  AddText(call.resp(), Line(call), &reply);
  call.Answer(reply);
}

void ClientNoEvict(Call& call) {
  if (!IsWord(call[2], "on") && !IsWord(call[2], "off")) return call.Refuse(kSyntaxError);
  call.Answer(kOkReply);
}

constexpr std::array kClientCommands = std::to_array<Command>({
    {"getname", 2, ClientGetName},
    {"id", 2, ClientId},
    {"info", 2, ClientLine},
    {"list", 2, ClientLine},
    {"no-evict", 3, ClientNoEvict},
    {"setinfo", 4, ClientSetInfo},
    {"setname", 3, ClientSetName},
});

}  // namespace

namespace commands {

void Ping(Call& call) {
  if (call.count() > 2) return call.RefuseArity();
  if (call.count() == 1) return call.Answer("+PONG\r\n");
  Echo(call);
}

void Echo(Call& call) {
  std::string reply;
  AddBulk(call[1], &reply);
  call.Answer(reply);
}

// There is one database.
void Select(Call& call) {
  const auto number = IntegerOf(call[1]);
  if (!number) return call.Refuse(kNotAnInteger);
  if (*number > std::numeric_limits<int>::max() || *number < std::numeric_limits<int>::min()) {
    return call.Refuse("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  if (*number != 0) return call.Refuse("ERR DB index is out of range");
  call.Answer(kOkReply);
}

void Quit(Call& call) {
  call.Answer(kOkReply);
  call.connection()->Close();
}

void Reset(Call& call) {
  call.session().resp = Resp::k2;
  call.session().name.clear();
  call.multi().Clear();
  call.Answer("+RESET\r\n");
}

void Hello(Call& call) {
  Resp resp = call.resp();
  if (call.count() > 1) {
    const auto number = IntegerOf(call[1]);
    if (!number) return call.Refuse("ERR Protocol version is not an integer or out of range");
    if (*number != 2 && *number != 3) return call.Refuse("NOPROTO unsupported protocol version");
    resp = *number == 2 ? Resp::k2 : Resp::k3;
  }
  std::string name = call.session().name;
  if (!TakeHelloWords(call, &name)) return;
  call.session().resp = resp;
  call.session().name = name;
  call.Answer(Greeting(call.session()));
}

// There is one user, "default", who needs no password.
void Auth(Call& call) {
  if (call.count() > 3) return call.Refuse(kSyntaxError);
  if (call.count() == 2) {
    return call.Refuse(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  if (call[1] != "default") return call.Refuse(kWrongPassword);
  call.Answer(kOkReply);
}

void Client(Call& call) {
  for (const Command& command : kClientCommands) {
    if (!IsWord(call[1], command.name)) continue;
    if (!command.Takes(call.count())) return call.RefuseArity(command.name);
    return command.run(call);
  }
  call.RefuseSubcommand();
}

}  // namespace commands

}  // namespace plov::door::redis
