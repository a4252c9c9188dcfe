// The verbs fabric: for clients on other hosts, over RDMA cards or the kernel's soft-RoCE (rxe).
//
// Set-up goes by rdmacm (librdmacm): a client's request carries a Hello, the answer a Welcome or a
// Refusal (wire.h), and each connection is one reliable queue pair. From then on
//   - a READ of the region is an RDMA READ: the server's card, or its kernel, answers it, also
//     while the server's process is stopped;
//   - a message is a SEND into a buffer that the other side has posted for it: there is one for
//     each message that may be on its way (kCredits), so no card ever says "receiver not ready";
//   - a large value is fetched by the server's RDMA READ of the client's staging memory, straight
//     into the record.
// Nothing is registered for remote writing, and no queue pair allows it.
//
// Only this folder knows rdma-core. Files: address (URIs), wire (private data, announcements), cm
// (rdmacm events), memory (registered memory), qp (queue pairs), client: connect, connection,
// read_queue; server: listener, port, peer; survey (of the machine's devices).
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "fabric/fabric.h"

namespace plov::fabric::verbs {

bool IsRdma(std::string_view uri);

// kInvalidArgument where the URI is no "rdma://HOST:PORT".
std::expected<void, Error> Check(std::string_view uri);

std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view uri,
                                                          const ConnectOptions& options);

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options);

}  // namespace plov::fabric::verbs
