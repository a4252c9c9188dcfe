// What `plov doctor` makes of facts on RDMA: each fault, the command that mends it, and when it is
// a problem.

#include "client/cli/rdma_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

namespace plov::cli {
namespace {

using testing::HasSubstr;

constexpr auto kDevice = "RDMA device rxe0";
constexpr auto kAdd = "rdma link add rxe0 type rxe netdev eth0";

// Of a soft-RoCE device on eth0 with which nothing is wrong.
RdmaFacts Healthy() {
  RdmaFacts facts;
  facts.memory_bytes = uint64_t{1} << 30;
  facts.built = true;
  facts.library = "libibverbs.so.1.14.44.0";
  facts.rxe = Module::kLoaded;
  facts.has_crc32 = true;
  facts.cm_number = "10:124";
  facts.cm_node = Node::kAllowed;
  facts.memlock_bytes = facts.memlock_hard_bytes = UINT64_MAX;
  facts.netdevs = {
      {.name = "lo", .up = true, .carrier = true, .loopback = true},
      {.name = "down0"},
      {.name = "eth0", .up = true, .carrier = true, .has_address = true, .mtu_bytes = 4200}};
  RdmaDevice device;
  device.name = "rxe0";
  device.soft = true;
  device.netdev = "eth0";
  device.node = "uverbs0";
  device.node_number = "231:192";
  device.node_file = Node::kAllowed;
  device.addresses = {"10.99.0.1"};
  device.ports = {{.number = 1,
                   .state = "ACTIVE",
                   .link_layer = "Ethernet",
                   .gids = {{0, "fe80::1", true, "RoCE v2", "eth0"},
                            {1, "10.99.0.1", false, "RoCE v2", "eth0"}},
                   .active_mtu_bytes = 4096,
                   .max_mtu_bytes = 4096}};
  device.survey = {.name = "rxe0",
                   .max_mr_bytes = UINT64_MAX,
                   .max_qp = 1048560,
                   .max_mr = 524287,
                   .responder_depth = 128,
                   .initiator_depth = 128,
                   .ports = {}};
  facts.devices = {device};
  return facts;
}

Findings CheckAll(const RdmaFacts& facts) {
  Findings findings;
  CheckRdma(facts, &findings);
  return findings;
}

// The worst finding on a subject.
std::optional<Finding> Find(const RdmaFacts& facts, const std::string& subject) {
  std::optional<Finding> worst;
  const Findings findings = CheckAll(facts);
  for (const Finding& finding : findings.all()) {
    if (finding.subject != subject) continue;
    if (!worst || finding.severity > worst->severity) worst = finding;
  }
  return worst;
}

// That a fault is a note with this command where RDMA is not asked for, and a problem with it where
// it is; and that it keeps RDMA from being usable.
void ExpectFault(RdmaFacts facts, const std::string& subject, const std::string& meaning,
                 const std::string& mend) {
  for (const bool wanted : {false, true}) {
    facts.wanted = wanted;
    const auto finding = Find(facts, subject);
    ASSERT_TRUE(finding) << subject;
    EXPECT_EQ(finding->severity, wanted ? Severity::kProblem : Severity::kNote) << finding->meaning;
    EXPECT_THAT(finding->meaning, HasSubstr(meaning));
    EXPECT_THAT(finding->mend, HasSubstr(mend));
    EXPECT_FALSE(IsReady(facts));
    const auto severity = Find(facts, "RDMA");
    EXPECT_TRUE(severity ? severity->severity != Severity::kOk : !facts.built);
  }
}

void ExpectNote(RdmaFacts facts, const std::string& subject, const std::string& meaning,
                const std::string& mend) {
  facts.wanted = true;
  const auto finding = Find(facts, subject);
  ASSERT_TRUE(finding) << subject;
  EXPECT_EQ(finding->severity, Severity::kNote) << finding->meaning;
  EXPECT_THAT(finding->meaning, HasSubstr(meaning));
  EXPECT_EQ(finding->mend, mend);
}

TEST(RdmaChecks, WhereNothingIsWrongAllIsOk) {
  for (const bool wanted : {false, true}) {
    RdmaFacts facts = Healthy();
    facts.wanted = wanted;
    const Findings findings = CheckAll(facts);
    for (const Finding& finding : findings.all()) {
      EXPECT_EQ(finding.severity, Severity::kOk) << finding.subject << ": " << finding.meaning;
      EXPECT_EQ(finding.mend, "");
    }
  }
  EXPECT_THAT(Find(Healthy(), "RDMA library")->meaning, HasSubstr("rdma-core 44.0 "));
  EXPECT_THAT(Find(Healthy(), kDevice)->meaning, HasSubstr("serves rdma://10.99.0.1:7777"));
  EXPECT_THAT(Find(Healthy(), kDevice)->meaning, HasSubstr("7 means for ever"));
  EXPECT_THAT(Find(Healthy(), "RDMA GIDs of rxe0")->meaning, HasSubstr("index 1 is the one"));
  EXPECT_THAT(Find(Healthy(), "RDMA")->meaning, HasSubstr("can serve on rdma://10.99.0.1:7777"));
}

TEST(RdmaChecks, ABuildWithoutRdmaCoreSaysHowToBuildAnew) {
  RdmaFacts facts = Healthy();
  facts.built = false;
  facts.library.clear();
  ExpectFault(facts, "RDMA library", "built without rdma-core",
              program::AsRoot("apt-get install libibverbs-dev librdmacm-dev"));
  EXPECT_FALSE(Find(facts, kDevice));
}

TEST(RdmaChecks, ALibraryOfNoKnownNameHasNoRelease) {
  RdmaFacts facts = Healthy();
  for (const char* name : {"", "x", ".", "libibverbs.so", "libibverbs.so.x.y"}) {
    facts.library = name;
    EXPECT_THAT(Find(facts, "RDMA library")->meaning, HasSubstr("does not tell")) << name;
  }
}

TEST(RdmaChecks, WithoutADeviceShmWorksAndSoftRoceIsOffered) {
  RdmaFacts facts = Healthy();
  facts.devices.clear();
  ExpectFault(facts, "RDMA devices", "none",
              program::AsRoot("modprobe -a crc32_generic rdma_rxe rdma_ucm") + " && " +
                  program::AsRoot(kAdd));
  facts.wanted = false;
  EXPECT_THAT(Find(facts, "RDMA devices")->meaning, HasSubstr("shm: works"));
  facts.rxe = Module::kAbsent;
  ExpectFault(facts, "RDMA devices", program::AsRoot("apt-get install linux-image-amd64"), kAdd);
}

TEST(RdmaChecks, SoftRoceIsOfferedOnAnInterfaceThatCanHaveIt) {
  RdmaFacts facts = Healthy();
  facts.netdevs.insert(facts.netdevs.begin(), {.name = "up0", .up = true});
  EXPECT_THAT(AddSoftRoce(facts, "rxe0"), HasSubstr("netdev eth0"));
  facts.netdevs.back().has_address = false;
  EXPECT_THAT(AddSoftRoce(facts, "rxe0"), HasSubstr("netdev up0"));
  facts.netdevs.clear();
  EXPECT_THAT(AddSoftRoce(facts, "rxe0"), HasSubstr("netdev eth0"));
}

TEST(RdmaChecks, SoftRoceWithoutItsChecksumIsAFaultUntilThereIsALink) {
  RdmaFacts facts = Healthy();
  facts.has_crc32 = false;
  EXPECT_FALSE(Find(facts, "RDMA modules"));
  facts.devices.clear();
  ExpectFault(facts, "RDMA modules", "rdma link add fails",
              program::AsRoot("modprobe crc32_generic"));
  facts.rxe = Module::kLoadable;
  EXPECT_FALSE(Find(facts, "RDMA modules"));
}

TEST(RdmaChecks, RdmacmHasAModuleAFileAndAMode) {
  constexpr auto kSubject = "RDMA connections";
  RdmaFacts facts = Healthy();
  facts.cm = Code::kUnavailable;
  facts.cm_node = Node::kForbidden;
  ExpectFault(facts, kSubject, "may not open",
              program::AsRoot("chmod a+rw /dev/infiniband/rdma_cm"));
  facts.cm_node = Node::kAllowed;
  ExpectFault(facts, kSubject, "does not work", program::AsRoot("dmesg | tail"));
  facts.cm_node = Node::kAbsent;
  ExpectFault(facts, kSubject, "container",
              program::AsRoot("mknod -m 666 /dev/infiniband/rdma_cm c 10 124"));
  facts.cm_number.clear();
  ExpectFault(facts, kSubject, "rdma_ucm is not loaded", program::AsRoot("modprobe rdma_ucm"));
}

TEST(RdmaChecks, ADeviceHasAModuleAFileADriverAndAMode) {
  RdmaFacts facts = Healthy();
  RdmaDevice& device = facts.devices[0];
  device.survey->error_number = ENOENT;
  device.node_file = Node::kForbidden;
  ExpectFault(facts, kDevice, "may not open /dev/infiniband/uverbs0",
              program::AsRoot("chmod a+rw /dev/infiniband/uverbs0"));
  device.node_file = Node::kAllowed;
  device.survey->error_number = EIO;
  ExpectFault(facts, kDevice, "cannot be opened", program::AsRoot("dmesg | tail"));
  device.survey.reset();
  ExpectFault(facts, kDevice, "no driver", program::AsRoot("apt-get install ibverbs-providers"));
  device.node_file = Node::kAbsent;
  ExpectFault(facts, kDevice, "container",
              program::AsRoot("mknod -m 666 /dev/infiniband/uverbs0 c 231 192"));
  device.node.clear();
  ExpectFault(facts, kDevice, "ib_uverbs is not loaded", program::AsRoot("modprobe ib_uverbs"));
}

TEST(RdmaChecks, APortThatIsDownNamesWhatIsDownWithIt) {
  RdmaFacts facts = Healthy();
  RdmaPort& port = facts.devices[0].ports[0];
  port.state = "DOWN";
  ExpectFault(
      facts, kDevice, "port 1 (Ethernet) is DOWN",
      program::AsRoot("ip link set eth0 down") + " && " + program::AsRoot("ip link set eth0 up"));
  facts.netdevs.back().carrier = false;
  ExpectFault(facts, kDevice, "no carrier; see to the cable", "ip link show eth0");
  facts.netdevs.back().up = false;
  ExpectFault(facts, kDevice, "eth0 is down", program::AsRoot("ip link set eth0 up"));
  facts.devices[0].soft = false;
  facts.netdevs.clear();
  ExpectFault(facts, kDevice, "is DOWN", "rdma link show");
  port.state.clear();
  ExpectFault(facts, kDevice, "in no known state", "rdma link show");
}

TEST(RdmaChecks, AnInfinibandPortNeedsACableAndASubnetManager) {
  RdmaFacts facts = Healthy();
  facts.devices[0].soft = false;
  RdmaPort& port = facts.devices[0].ports[0];
  port.link_layer = "InfiniBand";
  port.state = "DOWN";
  ExpectFault(facts, kDevice, "see to the cable", "rdma link show");
  for (const char* state : {"INIT", "ARMED"}) {
    port.state = state;
    ExpectFault(facts, kDevice, "subnet manager", program::AsRoot("apt-get install opensm"));
  }
}

TEST(RdmaChecks, ASecondPortThatIsDownKeepsNobodyFromTheFirst) {
  RdmaFacts facts = Healthy();
  facts.devices[0].ports.push_back(
      {.number = 2, .state = "DOWN", .link_layer = "Ethernet", .gids = {}});
  EXPECT_TRUE(IsReady(facts));
  facts.wanted = true;
  EXPECT_EQ(Find(facts, kDevice)->severity, Severity::kNote);
  EXPECT_EQ(Find(facts, "RDMA")->severity, Severity::kOk);
}

TEST(RdmaChecks, SoftRoceOnLoopbackOrInAnotherNamespaceIsATrap) {
  RdmaFacts facts = Healthy();
  facts.devices[0].netdev = "lo";
  const std::string move =
      program::AsRoot("rdma link delete rxe0") + " && " + AddSoftRoce(facts, "rxe0");
  ExpectFault(facts, kDevice, "the loopback interface", move);
  facts.devices[0].netdev = "gone0";
  ExpectFault(facts, kDevice, "gone0, which is not in this network namespace", move);
  facts.devices[0].soft = false;  // a card's interfaces may be anywhere
  EXPECT_TRUE(IsReady(facts));
}

TEST(RdmaChecks, ADeviceWithoutAnAddressCannotBeNamed) {
  RdmaFacts facts = Healthy();
  facts.devices[0].addresses.clear();
  facts.devices[0].ports[0].gids.pop_back();
  ExpectFault(facts, kDevice, "eth0 has no IP address",
              program::AsRoot("ip address add 192.0.2.1/24 dev eth0"));
  ExpectNote(facts, "RDMA GIDs of rxe0", "no RoCE v2 GID with an address", "ip address show eth0");
  facts.devices[0].soft = false;
  facts.devices[0].netdev.clear();
  facts.devices[0].ports[0].link_layer = "InfiniBand";
  ExpectFault(facts, kDevice, "ib0 has no IP address",
              program::AsRoot("modprobe ib_ipoib") + " && " +
                  program::AsRoot("ip address add 192.0.2.1/24 dev ib0"));
}

TEST(RdmaChecks, TheGidToUseIsTheRoceV2OneOfAnAddress) {
  RdmaFacts facts = Healthy();
  auto& gids = facts.devices[0].ports[0].gids;
  const auto says = [&facts](const char* index) {
    return testing::Value(Find(facts, "RDMA GIDs of rxe0")->meaning,
                          HasSubstr(std::string("index ") + index + " is the one"));
  };
  gids = {{0, "fe80::1", true, "IB/RoCE v1", "eth0"},
          {1, "fe80::1", true, "RoCE v2", "eth0"},
          {2, "10.99.0.1", false, "IB/RoCE v1", "eth0"},
          {3, "10.99.0.1", false, "RoCE v2", "eth0"}};
  EXPECT_TRUE(says("3"));
  gids.push_back({4, "2001:db8::7", false, "RoCE v2", "eth0"});
  EXPECT_TRUE(says("3"));
  gids.erase(gids.begin() + 3);
  EXPECT_TRUE(says("4"));
}

TEST(RdmaChecks, AnIpv6AddressStandsInBrackets) {
  EXPECT_EQ(UriOf("10.0.0.1"), "rdma://10.0.0.1:7777");
  EXPECT_EQ(UriOf("2001:db8::7"), "rdma://[2001:db8::7]:7777");
}

TEST(RdmaChecks, AnMtuIsHeldAgainstTheNetdevs) {
  constexpr auto kSubject = "RDMA MTU of rxe0";
  RdmaFacts facts = Healthy();
  RdmaPort& port = facts.devices[0].ports[0];
  port.active_mtu_bytes = 1024;
  facts.netdevs.back().mtu_bytes = 1500;
  ExpectNote(facts, kSubject, "4176 or more", program::AsRoot("ip link set eth0 mtu 4200"));
  port.active_mtu_bytes = 512;
  facts.netdevs.back().mtu_bytes = 1000;
  ExpectNote(facts, kSubject, "over a netdev MTU of 1000",
             program::AsRoot("ip link set eth0 mtu 1500"));
  port.active_mtu_bytes = port.max_mtu_bytes = 2048;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
  port.link_layer = "InfiniBand";
  port.active_mtu_bytes = 256;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
}

TEST(RdmaChecks, READDepthsThatAreSmallAreNotedAndNoneIsAFault) {
  constexpr auto kSubject = "RDMA READ depth of rxe0";
  RdmaFacts facts = Healthy();
  facts.devices[0].survey->initiator_depth = 15;
  ExpectNote(facts, kSubject, "128 READs in flight answered and 15 asked", "");
  facts.devices[0].survey->initiator_depth = 16;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
  facts.devices[0].survey->responder_depth = 0;
  ExpectFault(facts, kSubject, "cannot do what plov is made of", "plovd --listen shm:default &");
}

TEST(RdmaChecks, MemoryThatCannotBeRegisteredAtOnceIsNoted) {
  constexpr auto kSubject = "RDMA memory of rxe0";
  RdmaFacts facts = Healthy();
  facts.devices[0].survey->max_mr_bytes = facts.memory_bytes;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
  --facts.devices[0].survey->max_mr_bytes;
  ExpectNote(facts, kSubject, "a shard is registered at once", "plovd --memory 1023M");
}

TEST(RdmaChecks, FewQueuePairsAreNoted) {
  RdmaFacts facts = Healthy();
  facts.devices[0].survey->max_qp = 1023;
  ExpectNote(facts, "RDMA queue pairs of rxe0", "1,023", "plovd --shards 1");
}

TEST(RdmaChecks, LockedMemoryIsHeldAgainstWhatAServerPins) {
  constexpr auto kSubject = "locked memory";
  RdmaFacts facts = Healthy();
  facts.wanted = true;
  facts.memlock_bytes = facts.memory_bytes + 1;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
  facts.memlock_bytes = facts.memory_bytes;
  ExpectNote(facts, kSubject, "LimitMEMLOCK=infinity", "ulimit -l unlimited");
  EXPECT_THAT(Find(facts, "RDMA")->meaning, HasSubstr("once it may lock its memory"));
  facts.memlock_hard_bytes = facts.memlock_bytes;
  ExpectNote(facts, kSubject, "ulimit -l",
             program::AsRoot("prlimit --pid $$ --memlock=unlimited:unlimited"));
  facts.memlock_bytes = 64 << 10;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kProblem);  // for a client, too
  facts.wanted = false;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kNote);
  facts.may_lock = true;
  EXPECT_EQ(Find(facts, kSubject)->severity, Severity::kOk);
  EXPECT_THAT(Find(facts, kSubject)->meaning, HasSubstr("control group"));
}

TEST(RdmaChecks, LockedMemoryDoesNotMatterWithoutADevice) {
  RdmaFacts facts = Healthy();
  facts.memlock_bytes = 0;
  facts.devices.clear();
  EXPECT_EQ(Find(facts, "locked memory")->severity, Severity::kOk);
}

}  // namespace
}  // namespace plov::cli
