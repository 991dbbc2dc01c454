// ingle doctor: what it reads of a system, what it finds, and that a system which says nothing is no error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "apps/ingle/doctor/diagnosis.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A tree with what a test says stands in it.
class System : public testing::Test {
 protected:
  ~System() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("ingle_doctor_" + std::to_string(::getpid()) + "_" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(System, ThatSaysNothingIsUnknown) {
  const SystemFacts facts = read_system(root_);
  EXPECT_FALSE(facts.governor || facts.clock_driver || facts.huge_pages || facts.hypervisor || facts.steal_percent ||
               facts.load);
  EXPECT_FALSE(facts.emulated);
}

TEST_F(System, IsReadFromItsFiles) {
  write("proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor avx2\n");
  write("proc/stat", "cpu  100 0 50 800 20 0 0 30 7 0\ncpu0 1 2 3\n");
  write("proc/loadavg", "1.25 0.80 0.50 2/345 6789\n");
  write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
  const SystemFacts facts = read_system(root_);
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.clock_driver, "acpi-cpufreq");
  EXPECT_EQ(facts.huge_pages, "madvise");
  EXPECT_EQ(facts.hypervisor, "QEMU");
  EXPECT_DOUBLE_EQ(facts.steal_percent.value(), 3);
  EXPECT_DOUBLE_EQ(facts.load.value(), 1.25);
}

TEST_F(System, DamagedFilesAreUnknownToo) {
  write("proc/cpuinfo", "flags\nmodel name\n: \n\xff\xfe: x\n");
  write("proc/stat", "cpu  100 0\n");
  write("proc/loadavg", "much\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always ]madvise[ never\n");
  const SystemFacts facts = read_system(root_);
  EXPECT_FALSE(facts.huge_pages || facts.hypervisor || facts.steal_percent || facts.load);
}

TEST_F(System, AnEmulatedProcessorIsNoticed) {
  write("proc/cpuinfo", "model name\t: QEMU Virtual CPU version 2.5+\n");
  EXPECT_TRUE(read_system(root_).emulated);
}

// A machine on which there is nothing to complain about.
Diagnosis healthy() {
  Diagnosis d;
  d.version = "1.2.3";
  d.build = "GNU 12.2.0, Release";
  d.machine.processor = "A Processor";
  d.machine.physical_cores = 4;
  d.machine.logical_cores = 8;
  d.machine.memory_bytes = uint64_t{16} << 30;
  d.machine.available_bytes = uint64_t{12} << 30;
  d.machine.features = "avx2";
  d.machine.other_isas = {"avx512_vnni", "avx_vnni"};
  d.system.huge_pages = "madvise";
  d.system.governor = "performance";
  d.system.load = 0.1;
  d.isas = {"avx2", "scalar"};
  d.isa = "avx2";
  d.threads = 4;
  Ceilings c;
  c.threads = 4;
  c.isa = "avx2";
  c.read_bytes_per_second = 4e10;
  c.int8 = {{4, 3e11}, {8, 2e11}};
  c.f32_multiply_adds_per_second = 1e11;
  c.huge_pages = 1;
  d.ceilings = {c};
  d.models_folder = "/home/somebody/.cache/ingle/models";
  return d;
}

// The findings of a machine that is healthy but for one change.
template <class Change>
std::vector<std::string> findings(Change change) {
  Diagnosis d = healthy();
  change(d);
  std::vector<std::string> list;
  for (const Advice& advice : advise(d)) {
    EXPECT_THAT(advice.remedy, Not(IsEmpty()));
    list.push_back(advice.finding);
  }
  return list;
}

TEST(Advice, AHealthyMachineGetsNone) {
  EXPECT_THAT(findings([](Diagnosis&) {}), IsEmpty());
  EXPECT_THAT(to_page(healthy()), HasSubstr("Nothing was found"));
}

TEST(Advice, WhatIsUnknownIsNothingToComplainAbout) {
  EXPECT_THAT(findings([](Diagnosis& d) {
                d.system = {};
                d.ceilings.clear();
                d.machine.available_bytes = 0;
              }),
              IsEmpty());
}

TEST(Advice, EachThingThatCostsSpeedIsFound) {
  using testing::ElementsAre;
  EXPECT_THAT(findings([](Diagnosis& d) { d.system.governor = "powersave"; }), ElementsAre(HasSubstr("clock")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.system.huge_pages = "never"; }), ElementsAre(HasSubstr("huge pages")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.ceilings[0].huge_pages = 0.4; }), ElementsAre(HasSubstr("only 40 %")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.threads = 8; }), ElementsAre(HasSubstr("8 threads on 4")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.machine.processor_limit = 1.5; }), ElementsAre(HasSubstr("1.5 proc")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.machine.available_bytes = 1 << 30; }), ElementsAre(HasSubstr("memory")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.build = "GNU 12.2.0, Debug"; }), ElementsAre(HasSubstr("mistakes")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.system.emulated = true; }), ElementsAre(HasSubstr("emulated")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.isa = "scalar"; }), ElementsAre(HasSubstr("asks for scalar")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.isas = {d.isa = "scalar"}; }), ElementsAre(HasSubstr("no kernels")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.system.steal_percent = 9; }), ElementsAre(HasSubstr("9.0 %")));
  EXPECT_THAT(findings([](Diagnosis& d) { d.system.load = 3; }), ElementsAre(HasSubstr("load 3.0")));
}

TEST(Advice, PowersaveOfADriverThatFollowsTheLoadIsFine) {
  EXPECT_THAT(findings([](Diagnosis& d) {
                d.system.governor = "powersave";
                d.system.clock_driver = "intel_pstate";
              }),
              IsEmpty());
}

TEST(Page, SaysWhatIsThereInLinesThatFit) {
  Diagnosis d = healthy();
  d.models = {{"a.gguf", 1000000}, {"b\x1b[2J.gguf", 2}};
  d.system.huge_pages = "never";
  const std::string page = to_page(d);
  for (const char* text : {"ingle 1.2.3 (GNU 12.2.0, Release)", "A Processor", "4 physical, 8 logical",
                           "avx2, the best this processor can run (of avx2, scalar)", "it lacks what avx512_vnni,",
                           "governor performance", "4 threads: reading 40.0 GB/s", "a.gguf (1.0 MB)", "sudo tee"})
    EXPECT_THAT(page, HasSubstr(text));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Page, AsJsonHasNullForTheUnknown) {
  Diagnosis d = healthy();
  d.system.governor.reset();
  const boost::json::value json = boost::json::parse(boost::json::serialize(to_json(d)));
  EXPECT_TRUE(json.at("governor").is_null());
  EXPECT_TRUE(json.at("memory_limit_bytes").is_null());
  EXPECT_EQ(json.at("huge_pages"), "madvise");
  EXPECT_EQ(json.at("ceilings").at(0).at("threads"), 4);
  EXPECT_TRUE(json.at("advice").as_array().empty());
}

}  // namespace
}  // namespace ingle::app
