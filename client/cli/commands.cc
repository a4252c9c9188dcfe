#include "client/cli/commands.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace plov::cli {

namespace {

constexpr auto kCommands = std::to_array<Command>({
    {"get", "", "KEY", "print the value of KEY and a newline",
     "Ends with 1 when there is no such key. Binary values come out as they are,\n"
     "but on a terminal, where control characters are shown as \\xNN.\n"
     "With --json: an object with key, value, version, flags and expiry; with --read-from\n"
     "any-replica also age_us, how old at most that is. With --ttl: as touch, the value of that "
     "moment.\n",
     1, 1, "ttl", Get},
    {"put", "set", "KEY [VALUE|-]", "store VALUE, or what comes on standard input, under KEY",
     "Without VALUE, and with -, the value is read from standard input to its end, newlines\n"
     "included. Prints nothing; with --json: an object with key and version.\n",
     1, 2, "ttl flags add replace if-version if-value", Put},
    {"append", "", "KEY [VALUE|-]", "put VALUE, or what comes on standard input, after that of KEY",
     "At the server, at most 16 KiB at a time; flags and expiry of the item stay. Ends with 1 "
     "when\n"
     "there is no such key: --create stores it. Prints nothing; with --json: an object with key "
     "and\n"
     "version.\n",
     1, 2, "create ttl flags if-version", Append},
    {"prepend", "", "KEY [VALUE|-]", "the same before it", "As append.\n", 1, 2,
     "create ttl flags if-version", Prepend},
    {"incr", "", "KEY [N]", "add N, or 1, to the number that is the value of KEY, and print it",
     "At the server. The value is the decimal text of a number, -2^63 to 2^63-1; flags and expiry "
     "stay.\n"
     "Ends with 1 when there is no such key: --initial stores what it counts as, with N added. "
     "Ends\n"
     "with 3, and changes nothing, when the value is no number or would leave its limits.\n"
     "With --unsigned, as memcached: 0 to 2^64-1, incr goes on from 0, decr stops there.\n"
     "With --json: an object with key, number and version.\n",
     1, 2, "initial min max unsigned ttl flags if-version", Incr},
    {"decr", "", "KEY [N]", "subtract N, or 1", "As incr.\n", 1, 2,
     "initial min max unsigned ttl flags if-version", Decr},
    {"delete", "del", "KEY", "remove KEY", "Ends with 1 when there is no such key.\n", 1, 1,
     "if-version", Delete},
    {"mget", "", "KEY...", "print KEY<TAB>VALUE for each KEY that is there, escaped as in load",
     "In the order of the keys. Ends with 1 when one of them is not there.\n"
     "With --json: one object a line, {\"key\":...,\"found\":false} for one that is not there.\n",
     1, SIZE_MAX, "", GetMany},
    {"exists", "", "KEY...", "say by the exit status whether every KEY is there",
     "0 when all are there, 1 when one is not. Prints nothing; with --json: an object with key "
     "and\n"
     "found for each KEY.\n",
     1, SIZE_MAX, "", Exists},
    {"touch", "", "KEY", "let KEY expire after --ttl from now on; without --ttl, never",
     "At the server; value and flags stay. Ends with 1 when there is no such key. Prints nothing;\n"
     "with --json: an object with key and version.\n",
     1, 1, "ttl", Touch},
    {"vector", "",
     "put KEY TYPE [ELEMENT...] | get KEY | update KEY FUNCTION ELEMENT... | reduce KEY FUNCTION | "
     "filter KEY COMPARISON ELEMENT",
     "store a vector of numbers, and have the server change, sum up and look through it",
     "TYPE: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float or double.\n"
     "put: stores these elements; without any, those on standard input, between blanks.\n"
     "get: prints the elements, one a line.\n"
     "update: changes each element by FUNCTION, assign, add, min, max, and, or, xor, with the one\n"
     "ELEMENT, or with one for each. Prints nothing.\n"
     "reduce: prints what FUNCTION, but assign, makes of all elements: their sum, the least, ...\n"
     "filter: prints INDEX ELEMENT of those that compare so: eq, ne, lt, le, gt or ge.\n"
     "--first and --count: of some elements next to each other only. Ends with 1 when there is\n"
     "no such key, with 3 when its value is no vector. With --json: an object with key, version\n"
     "and, but for put and update, the type and what was found.\n",
     2, SIZE_MAX, "ttl flags add replace if-version first count", Vector},
    {"load", "", "FILE|-", "store every line KEY<TAB>VALUE of FILE or of standard input",
     "In keys and values \\t is a tab, \\n a newline and \\\\ a backslash; all other bytes are\n"
     "themselves. Lines that are not items are left out and reported with their number; then the\n"
     "exit status is 3. Prints how many items were stored and how fast.\n"
     "With --json-lines: JSON objects as dump --json prints them, with flags and expiry.\n",
     1, 1, "json-lines", Load},
    {"dump", "", "", "print every item as load reads it, without the server's help",
     "In no order; keys and values only, without flags and expiry, unless with --json: one object\n"
     "a line, as get prints it.\n",
     0, 0, "", Dump},
    {"scan", "", "[PREFIX]", "print every key that starts with PREFIX, without the server's help",
     "In no order, a key a line, escaped as in load; with --values KEY<TAB>VALUE, as dump prints "
     "it.\n"
     "With --json: objects with key, version, flags and expiry, and with --values the value.\n",
     0, 1, "values", Scan},
    {"flush", "", "[PREFIX]", "delete every item, or those whose keys start with PREFIX",
     "On a terminal it asks first; otherwise it needs --yes. What is there when it begins is "
     "deleted;\n"
     "an item that is written while it runs may stay. Prints how many were deleted. With --delay "
     "the\n"
     "server deletes every item so much later, in place of another such flush, and flush is over.\n"
     "With --json: an object with server, deleted and seconds.\n",
     0, 1, "yes delay", Flush},
    {"stats", "", "", "print the counters of the server",
     "READ from the server's memory, which costs it nothing.\n"
     "With --json: {\"shards\":[...],\"total\":{...}} with every number, the server's version, "
     "process\n"
     "and options. With --prometheus: as plovd --metrics serves them.\n",
     0, 0, "watch prometheus", Stats},
    {"top", "", "", "show what the server does, again and again",
     "READ from the server's memory: it costs the server nothing, and goes on while it is stopped\n"
     "or gone. Rates are of the last 5 seconds, or of the last --interval where that is longer.\n"
     "On a terminal q ends it, p pauses it, s sorts the shards by CPU time; into a pipe it prints "
     "a\n"
     "block of lines for each interval. With --json: an object for each, on a terminal, too.\n",
     0, 0, "interval count", Top},
    {"slowlog", "", "", "print the last writes that took the server long",
     "At most 64 of each shard, the oldest first: those that took longer than plovd --slow-write.\n"
     "Of each: when the server took its message, how long until the reply was sent, and on what:\n"
     "work (the writes themselves), queue (other clients' turns), growth (of the table), cleaning\n"
     "(room among records), value (a large one on its way), disk (the log).\n"
     "With --json: objects, one a line.\n",
     0, 0, "", SlowLog},
    {"ping", "", "", "print how long a message to the server and back takes", "", 0, 0, "", Ping},
    {"sync", "", "", "wait until everything that the server has acknowledged is durable",
     "Of a server with --log; worth its time with --commit async. Prints nothing; with --json: an\n"
     "object with server and seconds.\n",
     0, 0, "", Sync},
    {"snapshot", "", "", "let the server take a snapshot of its log, and wait for it",
     "Of a server with --log. Prints how many items it has, in how many bytes, and how long that\n"
     "took. Ends with 3 when a shard could not take it.\n"
     "With --json: an object with server, items, bytes, seconds and failed, the shards that could\n"
     "not; with --no-wait too, the server and awaited: for each shard what its snapshots and\n"
     "snapshot_failures in stats --json add up to when its snapshot is over.\n",
     0, 0, "no-wait", Snapshot},
    {"config", "", "get [NAME] | set NAME VALUE", "show or change how the server runs",
     "get prints what can change while it runs: log-level, max-clients, max-clients-per-user,\n"
     "memory, slow-write, snapshot-keep, snapshot-rate, spin-us; man plovd has them. set changes\n"
     "one until the server ends, as root or its user. With --json: an object with names and values "
     "as text.\n",
     1, 3, "", Config},
    {"drain", "", "", "have the server end when its clients have gone, and let in no new ones",
     "As root or the server's user. Clients that are connected go on until --timeout (30s), then\n"
     "they are closed. Prints how many are left, and returns when the server has ended; "
     "interrupting this does "
     "not\n"
     "stop it, --cancel does. Ends with 3 when it was cancelled, or the server ended otherwise.\n"
     "With --json: an object with server, state and clients, those that were left.\n",
     0, 0, "cancel", Drain},
    {"cluster", "",
     "create URI ID..., status|servers|shards|watch|set|repair|balance URI, move|force URI SHARD, "
     "drain|remove URI ID",
     "create a cluster with replicas, show it, move its shards, or give up what one held",
     "URI is of the coordinator: zk://HOST[:PORT],.../ROOT, as the servers' --cluster.\n"
     "create: a cluster of servers with these IDs, which are started afterwards.\n"
     "status: its servers and shards; servers and shards: these alone. Ends with 1 when a shard "
     "has\n"
     "fewer replicas than it should, or none that runs. watch: prints status again when it "
     "changes.\n"
     "set: --repair-after of a cluster that there is.\n"
     "move: the shard's replica --from ID goes to the server --to ID; where that has one, it\n"
     "becomes the primary. drain: all replicas of a server go to others. repair: those of servers\n"
     "that do not run do. balance: each server has its part. All four go on while the cluster is\n"
     "used, print what moves, and wait for it unless --no-wait is given; interrupting them does\n"
     "not stop what has begun.\n"
     "remove: forgets a server that does not run and has no replica.\n"
     "force: the shard begins with nothing on the server --to ID, one that runs: for when all who\n"
     "held it have lost their memory. Needs --lose-data.\n"
     "With --json: an object with cluster, repair_after_ms, servers and shards, for create, "
     "status\n"
     "and watch, with shards, each with from and to, for what moves.\n",
     2, SIZE_MAX,
     "auth shards replicas min-replicas lease detect drop repair-after from to no-wait lose-data",
     Cluster},
    {"log", "", "check|list|export|salvage DIR, cut DIR NEWDIR",
     "read the log of a plovd --log DIR that is stopped",
     "check: reads all of it, changes nothing, and says of each shard how it ends.\n"
     "list: prints every operation in order, a line each: shard, batch, version, put or delete,\n"
     "key, bytes of the value, flags, expiry.\n"
     "export: prints the items as dump does, for load into any other server.\n"
     "cut: copies what lies before damage into a new folder, NEWDIR, which plovd starts on.\n"
     "salvage: prints the items as export does, but goes on behind damage.\n"
     "check ends with 1 when a tail is torn, which the next start of plovd cuts, and salvage when\n"
     "it skipped something; the others end with 3 at damage. With --json: objects, one a line.\n",
     1, 3, "shard snapshot", Log},
    {"backup", "", "DIR TARGET", "copy the log of a plovd --log DIR that may be running",
     "Reads files, as the server's user. TARGET is a folder that is empty or not there, best on\n"
     "the same file system: files are linked there, and copied to another one. The copy is\n"
     "durable, checked, and holds all that was durable when it began.\n"
     "Prints a line for each shard; with --json: objects, one a line.\n",
     2, 2, "", Backup},
    {"restore", "", "TARGET DIR", "make a folder DIR, for plovd --log DIR, from a backup",
     "A copy of TARGET that is durable and checked; DIR is empty or not there.\n"
     "With --until-version the log of a shard ends behind its last operation of at most that\n"
     "version, with --until-time that of each before the first batch that is later; plov log list\n"
     "TARGET shows both.\n"
     "Prints a line for each shard; with --json: objects, one a line.\n",
     2, 2, "until-version until-time", Restore},
    {"shell", "", "", "read commands from the terminal, or from a pipe, and run them",
     "What plov without a command is on a terminal. Words are quoted as in a shell: '...', \"...\" "
     "and\n"
     "backslashes; in \"...\" \\n, \\r, \\t and \\xNN are bytes. --server, --timeout, --wait,\n"
     "--read-from, --max-age and --json hold for each command. TAB completes, Ctrl-C ends the\n"
     "command that runs; help, exit, quit, Ctrl-D.\n"
     "From a pipe it runs a command a line, goes on after errors, and ends as the last one did.\n",
     0, 0, "", Shell},
    {"doctor", "", "", "check whether plov can work on this machine, and work fast",
     "Needs no server, but tests a running one; --server rdma://HOST:PORT names one over RDMA. "
     "Each\n"
     "finding is ok, a note or a PROBLEM, with the command that fixes it. Ends with 0 when there "
     "is\n"
     "no PROBLEM, with 3 otherwise. --cluster URI: looks at a cluster and all its servers "
     "instead.\n",
     0, 0, "memory log cluster auth", Doctor},
});

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  const auto found = std::ranges::find_if(kCommands, [name](const Command& command) {
    return name == command.name || (name == command.alias && !name.empty());
  });
  return found == kCommands.end() ? nullptr : &*found;
}

}  // namespace plov::cli
