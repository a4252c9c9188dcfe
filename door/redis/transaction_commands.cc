// Commands of transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH.

#include <memory>
#include <utility>
#include <vector>

#include "door/connection.h"
#include "door/redis/command.h"
#include "door/redis/multi.h"
#include "door/redis/transaction.h"
#include "door/redis/watch_request.h"
#include "door/worker.h"

namespace plov::door::redis {

// What a call of EXEC and its transaction share: what the steps refer to, and what a transaction that takes effect makes
// of the session.
struct ExecAnswer : Transaction::Outcome {
  redis::Multi::Queue queue;
  Session session;
};

namespace {

// Of one argument's request, whichever it is, beside copies of its arguments.
constexpr size_t kStepBytesMax = 512;

constexpr std::string_view kAborted = "EXECABORT Transaction discarded because of previous errors.";

// The queued commands as the steps that they make now.
Steps StepsOf(const Call& exec, ExecAnswer* answer) {
  Steps steps;
  Call::Place place = exec.place();
  place.session = &answer->session;
  place.steps = &steps;
  place.copies = false;  // the answer has the arguments
  for (const QueuedCommand& queued : answer->queue.commands) {
    const std::vector<std::string_view> arguments(queued.arguments.begin(), queued.arguments.end());
    Call call(place, queued.command, arguments);
    do {
      call.Run();
    } while (!call.is_over());
  }
  return steps;
}

void BeginExec(Call& call) {
  redis::Multi& multi = call.multi();
  auto answer = std::make_shared<ExecAnswer>();
  answer->queue = multi.TakeQueue();
  answer->session = call.session();
  const bool is_spoiled = multi.is_spoiled();
  const std::shared_ptr<Watches> watches = multi.watches();
  multi.Clear();
  if (is_spoiled) return call.Refuse(kAborted);
  const size_t bytes = 2 * answer->queue.bytes + answer->queue.argument_count * kStepBytesMax;
  if (!call.connection()->Reserve(bytes)) return call.Refuse(kOutOfMemory);
  Transaction::Content content{.outcome = answer,
                               .steps = StepsOf(call, answer.get()),
                               .heading = {},
                               .watches = watches,
                               .bytes = bytes};
  AddArray(answer->queue.commands.size(), &content.heading);
  call.connection()->Add(new Transaction(std::move(content), call.resp(), &call.options()));
  call.exec_answer = std::move(answer);
}

}  // namespace

namespace commands {

void Multi(Call& call) {
  if (call.multi().is_open()) return call.Refuse("ERR MULTI calls can not be nested");
  call.multi().Open();
  call.Answer(kOkReply);
}

// It is over once its transaction is: a session that this changes is that of what follows.
void Exec(Call& call) {
  if (call.exec_answer == nullptr) {
    if (!call.multi().is_open()) return call.Refuse("ERR EXEC without MULTI");
    return BeginExec(call);
  }
  if (!call.exec_answer->is_there) return;
  if (call.exec_answer->took_effect) call.session() = call.exec_answer->session;
  call.exec_answer.reset();
}

void Discard(Call& call) {
  if (!call.multi().is_open()) return call.Refuse("ERR DISCARD without MULTI");
  call.multi().Clear();
  call.Answer(kOkReply);
}

void Watch(Call& call) {
  if (call.multi().is_open()) return call.Refuse("ERR WATCH inside MULTI is not allowed");
  if (!call.TakesKeys(1)) return;
  if (call.count() - 1 > kCommitItemsMax) return call.Refuse(kTooManyWatched);
  std::vector<std::string> keys;
  for (size_t i = 1; i < call.count(); ++i) keys.emplace_back(call[i]);
  call.connection()->Add(new WatchRequest(std::move(keys), call.multi().watches()));
}

void Unwatch(Call& call) {
  call.multi().Unwatch();
  call.Answer(kOkReply);
}

}  // namespace commands

}  // namespace plov::door::redis
