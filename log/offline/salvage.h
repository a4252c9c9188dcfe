// Salvage: all operations that are whole in a log's files, though what lies between them is not.
//
// From a snapshot that is whole on, or from the beginning where there is none: what is older cannot tell what
// was deleted meanwhile. Of files that are damaged, or under another's name, too, if they are of the server's
// logs; not what a later segment says is history.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "log/offline/shards.h"

namespace plov::log::offline {

// Tells `visit` in any order, for an Index that remembers deletes. Returns a line for each thing that was
// skipped. kNotFound: there is no file of a log. kSystem, kPermission: the folder cannot be read.
std::expected<std::vector<std::string>, Error> Salvage(Disk* disk, const Visit& visit);

}  // namespace plov::log::offline
