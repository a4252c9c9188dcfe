// What `plov doctor` gathers of RDMA, on machines made of a few files.

#include "client/cli/rdma_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace plov::cli {
namespace {

using fabric::verbs::Survey;

class RdmaFactsTest : public testing::Test {
 protected:
  RdmaFactsTest() {
    std::string name = "/tmp/plov-rdma-facts.XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~RdmaFactsTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << '\n';
  }

  // A soft-RoCE device as Debian's kernel 6.1 shows it.
  void WriteRxe() {
    const std::string device = "/sys/class/infiniband/rxe0";
    const std::string port = device + "/ports/1";
    Write(device + "/parent", "eth7");
    Write(device + "/node_type", "1: CA");
    Write(port + "/state", "4: ACTIVE");
    Write(port + "/link_layer", "Ethernet");
    Write(port + "/gids/0", "fe80:0000:0000:0000:64b5:02ff:fe3c:0391");
    Write(port + "/gids/1", "0000:0000:0000:0000:0000:ffff:0a63:0001");
    Write(port + "/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000");
    Write(port + "/gids/10", "2001:0db8:0000:0000:0000:0000:0000:0007");
    for (const char* index : {"0", "1", "10"}) {
      Write(port + "/gid_attrs/types/" + index, "RoCE v2");
      Write(port + "/gid_attrs/ndevs/" + index, "eth7");
    }
    Write("/sys/class/infiniband_verbs/abi_version", "6");
    Write("/sys/class/infiniband_verbs/uverbs3/ibdev", "rxe0");
    Write("/sys/class/infiniband_verbs/uverbs3/dev", "231:195");
    Write("/sys/class/net/eth7/flags", "0x1003");
    Write("/sys/class/net/eth7/carrier", "1");
    Write("/sys/class/net/eth7/mtu", "1500");
  }
  static Survey SurveyOfRxe() {
    Survey survey;
    survey.built = true;
    survey.library = "libibverbs.so.1.14.44.0";
    survey.devices.push_back({.name = "rxe0",
                              .max_mr_bytes = UINT64_MAX,
                              .max_qp = 1000,
                              .responder_depth = 128,
                              .initiator_depth = 64,
                              .ports = {{.number = 1, .active_mtu_bytes = 1024}}});
    survey.addresses.push_back({"10.99.0.1", "eth7", "rxe0"});
    survey.addresses.push_back({"10.98.0.1", "eth8", "mlx5_0"});
    return survey;
  }

  RdmaFacts Gather(const Survey& survey) const {
    return GatherRdmaFacts(program::Machine(root_), survey);
  }

  std::string root_;
};

TEST_F(RdmaFactsTest, AMachineWithoutFilesHasNothing) {
  const RdmaFacts facts = Gather({});
  EXPECT_FALSE(facts.built);
  EXPECT_TRUE(facts.devices.empty());
  EXPECT_TRUE(facts.netdevs.empty());
  EXPECT_EQ(facts.rxe, Module::kAbsent);
  EXPECT_FALSE(facts.has_crc32 || facts.may_lock || facts.cm_node != Node::kAbsent);
}

TEST_F(RdmaFactsTest, ADeviceIsWhatFilesAndSurveySayOfIt) {
  WriteRxe();
  const RdmaFacts facts = Gather(SurveyOfRxe());
  ASSERT_EQ(facts.devices.size(), 1u);
  const RdmaDevice& device = facts.devices[0];
  EXPECT_EQ(device.name, "rxe0");
  EXPECT_TRUE(device.soft);
  EXPECT_EQ(device.netdev, "eth7");
  EXPECT_EQ(device.node, "uverbs3");
  EXPECT_EQ(device.node_number, "231:195");
  EXPECT_EQ(device.node_file, Node::kAbsent);
  EXPECT_EQ(device.addresses, std::vector<std::string>{"10.99.0.1"});
  ASSERT_TRUE(device.survey);
  EXPECT_EQ(device.survey->initiator_depth, 64u);
  ASSERT_EQ(device.ports.size(), 1u);
  EXPECT_EQ(device.ports[0].state, "ACTIVE");
  EXPECT_EQ(device.ports[0].link_layer, "Ethernet");
  EXPECT_EQ(device.ports[0].active_mtu_bytes, 1024u);
  Write("/dev/infiniband/uverbs3", "");
  Write("/dev/infiniband/rdma_cm", "");
  EXPECT_EQ(Gather(SurveyOfRxe()).devices[0].node_file, Node::kAllowed);
  EXPECT_EQ(Gather(SurveyOfRxe()).cm_node, Node::kAllowed);
}

TEST_F(RdmaFactsTest, GidsInUseComeInTheOrderOfTheirIndex) {
  WriteRxe();
  const RdmaFacts facts = Gather(SurveyOfRxe());
  const auto& gids = facts.devices.at(0).ports.at(0).gids;
  ASSERT_EQ(gids.size(), 3u);
  EXPECT_EQ(gids[0].address, "fe80::64b5:2ff:fe3c:391");
  EXPECT_TRUE(gids[0].link_local);
  EXPECT_EQ(gids[1].address, "10.99.0.1");
  EXPECT_FALSE(gids[1].link_local);
  EXPECT_EQ(gids[1].type, "RoCE v2");
  EXPECT_EQ(gids[1].netdev, "eth7");
  EXPECT_EQ(gids[2].index, 10u);
  EXPECT_EQ(gids[2].address, "2001:db8::7");
}

TEST_F(RdmaFactsTest, WithoutRdmacmTheGidsTellTheAddresses) {
  WriteRxe();
  Survey survey = SurveyOfRxe();
  survey.cm = Code::kUnavailable;
  survey.addresses.clear();
  EXPECT_EQ(Gather(survey).devices.at(0).addresses,
            (std::vector<std::string>{"10.99.0.1", "2001:db8::7"}));
}

TEST_F(RdmaFactsTest, ADeviceThatRdmaCoreDoesNotKnowHasNoSurvey) {
  WriteRxe();
  Survey survey = SurveyOfRxe();
  survey.devices[0].name = "mlx5_0";
  EXPECT_FALSE(Gather(survey).devices.at(0).survey);
}

TEST_F(RdmaFactsTest, InterfacesTellTheirFlags) {
  Write("/sys/class/net/bonding_masters", "");
  Write("/sys/class/net/lo/flags", "0x9");
  Write("/sys/class/net/lo/mtu", "65536");
  Write("/sys/class/net/eth0/flags", "0x1002");
  const RdmaFacts facts = Gather({});
  ASSERT_EQ(facts.netdevs.size(), 2u);
  EXPECT_EQ(facts.netdevs[0].name, "eth0");
  EXPECT_FALSE(facts.netdevs[0].up || facts.netdevs[0].carrier || facts.netdevs[0].loopback);
  EXPECT_TRUE(facts.netdevs[1].up && facts.netdevs[1].loopback);
  EXPECT_EQ(facts.netdevs[1].mtu_bytes, 65536u);
}

TEST_F(RdmaFactsTest, ModulesAreLoadedLoadableOrAbsent) {
  Write("/proc/sys/kernel/osrelease", "6.1.0-1");
  EXPECT_EQ(Gather({}).rxe, Module::kAbsent);
  Write("/lib/modules/6.1.0-1/modules.dep",
        "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko: kernel/x.ko");
  EXPECT_EQ(Gather({}).rxe, Module::kLoadable);
  Write("/sys/module/rdma_rxe/refcnt", "0");
  EXPECT_EQ(Gather({}).rxe, Module::kLoaded);
}

TEST_F(RdmaFactsTest, OnlyTheAlgorithmsOwnNameCounts) {
  Write("/proc/crypto", "name         : crc32c\ndriver       : crc32c-intel\n\nname : x");
  EXPECT_FALSE(Gather({}).has_crc32);
  Write("/proc/crypto", "driver       : crc32\nname         : crc32c\n");
  EXPECT_FALSE(Gather({}).has_crc32);
  Write("/proc/crypto", "name         : crc32\ndriver       : crc32-generic\n");
  EXPECT_TRUE(Gather({}).has_crc32);
  Write("/proc/crypto", "name : x\n\nname         : crc32\ndriver       : crc32-generic\n");
  EXPECT_TRUE(Gather({}).has_crc32);
}

TEST_F(RdmaFactsTest, TheCapabilityToLockIsABitOfTheEffectiveOnes) {
  Write("/proc/self/status", "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\n");
  EXPECT_FALSE(Gather({}).may_lock);
  Write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\nCapBnd:\t0\n");
  EXPECT_TRUE(Gather({}).may_lock);
}

}  // namespace
}  // namespace plov::cli
