#include "experiments/server/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/error.h"

namespace paretoken::experiments {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

TEST(ChildProcess, GivesItsOutputLineByLineAndThenItsExitStatus) {
    ChildProcess child("/bin/sh", {"-c", "echo one; printf 'two\\n'; exit 7"});
    EXPECT_EQ(child.read_line(kPatience), "one");
    EXPECT_EQ(child.read_line(kPatience), "two");
    EXPECT_EQ(child.read_line(kPatience), std::nullopt);
    EXPECT_EQ(child.wait(), 7);
}

TEST(ChildProcess, ReadsNothingAfterItsPatience) {
    ChildProcess child("/bin/sh", {"-c", "read line"});
    EXPECT_EQ(child.read_line(std::chrono::milliseconds(20)), std::nullopt);
}

TEST(ChildProcess, SaysWhichSignalEndedIt) {
    ChildProcess child("/bin/sh", {"-c", "echo up; read line"});
    ASSERT_EQ(child.read_line(kPatience), "up");
    child.signal(SIGKILL);
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
}

TEST(ChildProcess, EndsByTheSignalsThatThisProcessIgnores) {
    for (const int number : {SIGPIPE, SIGXFSZ}) {
        const auto before = ::signal(number, SIG_IGN);
        ChildProcess child("/bin/sh", {"-c", "kill -" + std::to_string(number) + " $$"});
        EXPECT_EQ(child.wait(), 128 + number);
        (void)::signal(number, before);
    }
}

TEST(ChildProcess, DoesNotOutliveItsOwnerEvenWhenItIgnoresASignal) {
    std::string pid;
    {
        ChildProcess child("/bin/sh", {"-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"});
        pid = child.read_line(kPatience).value();
    }
    EXPECT_EQ(kill(std::stoi(pid), 0), -1);
}

TEST(ChildProcess, NamesTheProgramThatCannotBeStarted) {
    try {
        ChildProcess child("/nowhere/at-all", {});
        child.wait();
        FAIL();
    } catch (const RuntimeError& error) {
        EXPECT_NE(std::string(error.what()).find("/nowhere/at-all"), std::string::npos);
    }
}

}  // namespace
}  // namespace paretoken::experiments
