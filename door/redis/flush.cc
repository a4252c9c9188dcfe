#include "door/redis/flush.h"

#include "door/redis/command.h"
#include "door/worker.h"

namespace plov::door::redis {

void Flush::Start(Worker* worker) {
  worker->counters().Add(Count::kFlushes);
  worker->client().StartFlush(std::chrono::seconds(0),
                              [this, worker](const Client::FlushResult& result) {
                                if (result) {
                                  reply = "+OK\r\n";
                                } else {
                                  worker->counters().Add(Count::kFailures);
                                  has_failed = true;
                                  AddFailure(result.error(), &reply);
                                }
                                connection()->End(this);
                              });
}

// ASYNC waits as well: the items' memory is free then.
void commands::FlushAll(Call& call) {
  const bool has_mode = call.count() == 2 && (IsWord(call[1], "async") || IsWord(call[1], "sync"));
  if (call.count() > 1 && !has_mode) return call.Refuse("ERR syntax error");
  call.connection()->Add(new Flush);
}

}  // namespace plov::door::redis
