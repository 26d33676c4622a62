#include "microbench/cpu/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/version.h"

namespace paretoken::microbench {
namespace {

std::vector<std::string> kernels_of_version() {
    std::istringstream text{std::string(cpu_kernels())};
    std::vector<std::string> names;
    for (std::string name; std::getline(text >> std::ws, name, ',');) names.push_back(name);
    return names;
}

TEST(Isa, the_version_text_names_every_instruction_set_that_can_run) {
    for (const Isa isa : available_isas())
        EXPECT_THAT(kernels_of_version(), testing::Contains(std::string(name_of(isa))));
}

TEST(Isa, the_version_text_names_no_unknown_instruction_set) {
    for (const std::string& name : kernels_of_version()) {
        try {
            EXPECT_EQ(name_of(isa_named(name)), name);
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("this CPU cannot run")) << name;
        }
    }
}

}  // namespace
}  // namespace paretoken::microbench
