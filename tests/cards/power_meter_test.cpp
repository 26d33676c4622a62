#include "cards/power_meter.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/paths.h"

namespace paretoken::cards {
namespace {

namespace fs = std::filesystem;

/// A tree of files in the layout of the kernel's powercap driver: two packages, a part of one package, and
/// the whole platform.
class Powercap : public ::testing::Test {
  protected:
    Powercap() : root_(fs::temp_directory_path() / ("paretoken-powercap-" + std::to_string(::getpid()))) {
        zone("intel-rapl:0", "package-0", kRange - 1'000'000);
        zone("intel-rapl:0:0", "core", 77);
        zone("intel-rapl:1", "package-1", 5'000'000);
        zone("intel-rapl:2", "psys", 1'000);
        fs::create_directories(root_ / "intel-rapl");
    }
    ~Powercap() override { fs::remove_all(root_); }

    void zone(const std::string& directory, const std::string& name, std::uint64_t microjoules) {
        fs::create_directories(root_ / directory);
        write(directory + "/name", name);
        write(directory + "/max_energy_range_uj", std::to_string(kRange));
        write(directory + "/energy_uj", std::to_string(microjoules));
    }
    void write(const std::string& file, const std::string& text) const {
        std::ofstream(root_ / file) << text << '\n';
    }

    static constexpr std::uint64_t kRange = 262'143'328'850;
    fs::path root_;
};

TEST_F(Powercap, counts_the_packages_across_the_wrap_of_their_counters) {
    const auto meter = cpu_power_meter(root_.string());
    ASSERT_NE(meter, nullptr);
    EXPECT_EQ(meter->source(), "rapl");
    EXPECT_EQ(meter->read(), (PowerSample{.devices = 2, .counter_j = 0}));
    write("intel-rapl:0/energy_uj", "2000000");   // 3 J later, after the counter wrapped
    write("intel-rapl:1/energy_uj", "12000000");  // 7 J later
    write("intel-rapl:0:0/energy_uj", "900000000");
    write("intel-rapl:2/energy_uj", "900000000");
    EXPECT_DOUBLE_EQ(meter->read()->counter_j.value(), 10);
    write("intel-rapl:0/energy_uj", "2500000");
    EXPECT_DOUBLE_EQ(meter->read()->counter_j.value(), 10.5);
}

TEST_F(Powercap, a_counter_that_cannot_be_read_any_more_gives_no_reading) {
    const auto meter = cpu_power_meter(root_.string());
    fs::remove(root_ / "intel-rapl:1/energy_uj");
    EXPECT_FALSE(meter->read());
}

TEST_F(Powercap, a_machine_without_packages_or_without_their_counters_has_no_meter) {
    fs::remove(root_ / "intel-rapl:1/energy_uj");
    fs::remove(root_ / "intel-rapl:0/energy_uj");
    EXPECT_EQ(cpu_power_meter(root_.string()), nullptr);
    EXPECT_EQ(cpu_power_meter((root_ / "nothing").string()), nullptr);
}

TEST(GpuPowerMeter, reads_what_the_driver_says_of_the_gpus_that_tell_their_power) {
    const std::string library = paths::binary_dir() + "/fake_nvml.so";
    const auto meter = gpu_power_meter(library);
    ASSERT_NE(meter, nullptr);
    void* const handle = dlopen(library.c_str(), RTLD_NOW);
    const auto set = reinterpret_cast<void (*)(unsigned, unsigned long long, unsigned long long)>(
        dlsym(handle, "fake_nvml_set"));
    ASSERT_NE(set, nullptr);
    EXPECT_EQ(meter->source(), "nvml");
    set(412'500, 1'234'500, 0x1);
    const PowerSample sample = meter->read().value();
    EXPECT_DOUBLE_EQ(sample.watts.value(), 412.5);
    EXPECT_DOUBLE_EQ(sample.counter_j.value(), 1234.5);
    EXPECT_EQ(sample.throttled, false) << "idleness holds no clock down";
    EXPECT_DOUBLE_EQ(sample.utilization.value(), .8);
    EXPECT_DOUBLE_EQ(sample.sm_clock_hz.value(), 1755e6);
    EXPECT_DOUBLE_EQ(sample.memory_clock_hz.value(), 2619e6);
    EXPECT_DOUBLE_EQ(sample.temperature_c.value(), 61);
    EXPECT_DOUBLE_EQ(sample.memory_bytes.value(), 754820096.0);
    for (const unsigned long long reason : {0x4, 0x8, 0x20, 0x40, 0x80}) {
        set(412'500, 1'234'500, reason);
        EXPECT_EQ(meter->read()->throttled, true) << reason;
    }
    dlclose(handle);
}

TEST(GpuPowerMeter, a_machine_without_the_library_has_none) {
    EXPECT_EQ(gpu_power_meter("libno-such-nvml.so"), nullptr);
    EXPECT_EQ(gpu_power_meter("libm.so.6"), nullptr);
}

}  // namespace
}  // namespace paretoken::cards
