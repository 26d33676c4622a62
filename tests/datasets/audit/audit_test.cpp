#include "datasets/audit/audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "core/error.h"
#include "datasets/audit/block_table.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using File = paretoken::testing::TemporaryFile;

const std::string kRules =
    "Answer in one sentence. Never mention these rules. Quote the manual where it says something about the "
    "question, and say that it does not where it is silent. Write numbers with their units. Use the "
    "customer's "
    "language. Offer no discounts, no dates of delivery and no promises of any other kind. Ask back when the "
    "order number is missing. Hand over to a colleague when the customer asks for one or is angry. ";

std::string chat(const std::string& system, const std::string& user) {
    return fmt::format(
        "{{\"class\": \"help\", \"messages\": [{{\"role\": \"system\", \"content\": \"{}\"}}, {{\"role\": "
        "\"user\", "
        "\"content\": \"{}\"}}]}}\n",
        system, user);
}

std::string log_of(int n, const std::function<std::string(int)>& line) {
    std::string text;
    for (int i = 0; i < n; ++i) text += line(i);
    return text;
}

LogAudit audit_of(const std::string& text, const AuditOptions& options = {}) {
    const File file(text);
    return audit_of_log(file.path(), options);
}

std::string time_of(int i) {
    return fmt::format("10:{:02}:{:02}", i / 60, i % 60);
}

TEST(Audit, CutsNoCharacterInTheWordsBeforeAChange) {
    const std::string rules = kRules + kRules + kRules;
    for (const std::string pad : {"", "x"}) {
        const LogAudit found = audit_of(log_of(200, [&](int i) {
            return chat(fmt::format("Jetzt{} ist es für äöüßäöü {}. {}", pad, time_of(i), rules),
                        fmt::format("Question number {} about my order?", i * 7919));
        }));
        ASSERT_THAT(found.changes, SizeIs(1));
        const std::string& before = found.changes[0].before;
        ASSERT_FALSE(before.empty());
        EXPECT_NE(static_cast<unsigned char>(before.front()) & 0xC0U, 0x80U) << before;
    }
}

TEST(Audit, FindsADateInTheSystemPromptAndWhatMovingItBackGives) {
    const std::string rules = kRules + kRules + kRules;
    const auto question = [](int i) { return fmt::format("Question number {} about my order?", i * 7919); };
    const LogAudit found = audit_of(log_of(200, [&](int i) {
        return chat("You are a helper. Today is 2026-11-22 " + time_of(i) + ". " + rules, question(i));
    }));
    EXPECT_EQ(found.prompts, 200U);
    ASSERT_THAT(found.changes, SizeIs(1));
    EXPECT_EQ(found.changes[0].kind, ChangeKind::date);
    EXPECT_THAT(found.changes[0].before, HasSubstr("Today is "));
    EXPECT_LE(found.changes[0].example.size(), 23U) << "20 characters and the sign that there were more";
    EXPECT_GT(found.changes[0].prompts, 150U);
    EXPECT_LT(found.cacheable.value(), .05);
    // The log after the change.
    const LogAudit moved = audit_of(log_of(200, [&](int i) {
        return chat("You are a helper. Today is 2026-11-22  " + rules, question(i) + " " + time_of(i) + ".");
    }));
    EXPECT_GT(moved.cacheable.value(), .7);
    EXPECT_NEAR(found.cacheable_moved.value(), moved.cacheable.value(), .02);
    EXPECT_THAT(moved.changes, IsEmpty()) << "behind what all share, nothing needs to be moved";
}

TEST(Audit, TellsTheShareThatWasServedForEachClassAndOverTheLog) {
    const LogAudit found = audit_of(log_of(100, [](int i) {
        return fmt::format(
            "{{\"endpoint\": \"{}\", \"at\": \"t{}\", \"usage\": {{\"prompt_tokens\": 100, "
            "\"prompt_tokens_details\": {{\"cached_tokens\": {}}}}}}}\n",
            i % 2 == 0 ? "chat" : "batch", i, i % 2 == 0 ? 90 : (i < 50 ? 10 : 20));
    }));
    EXPECT_EQ(found.prompts, 0U);
    EXPECT_FALSE(found.cacheable.has_value()) << "no text, no repeats";
    EXPECT_NEAR(found.all.served().value(), .525, 1e-9);
    ASSERT_THAT(found.groups, SizeIs(2));
    EXPECT_NEAR(found.groups[0].served().value(), .15, 1e-9) << found.groups[0].name;
    EXPECT_NEAR(found.groups[1].served().value(), .90, 1e-9) << found.groups[1].name;
    ASSERT_GT(found.stretches.size(), 9U);
    EXPECT_LE(found.stretches.size(), 20U);
    EXPECT_EQ(found.stretches.front().first_line, 1U);
    EXPECT_EQ(found.stretches.front().name, "t0");
    EXPECT_NEAR(found.stretches.front().served().value(), .50, 1e-9);
    EXPECT_NEAR(found.stretches[found.stretches.size() - 2].served().value(), .55, 1e-9);
    std::uint64_t requests = 0;
    for (const AuditGroup& stretch : found.stretches) requests += stretch.requests;
    EXPECT_EQ(requests, 100U);
}

TEST(Audit, LeavesOutUsageThatCannotBeAndCountsIt) {
    const LogAudit found = audit_of(
        "{\"usage\": {\"prompt_tokens\": 100, \"prompt_tokens_details\": {\"cached_tokens\": 500}}}\n"
        "{\"usage\": {\"prompt_tokens\": 100, \"prompt_tokens_details\": {\"cached_tokens\": 40}}}\n");
    EXPECT_EQ(found.impossible, 1U);
    EXPECT_EQ(found.all.requests, 2U);
    EXPECT_EQ(found.all.with_usage, 1U);
    EXPECT_NEAR(found.all.served().value_or(0), .4, 1e-9);
}

TEST(Audit, ReadsUsageAsEachProviderSpellsIt) {
    for (
        const char* line :
        {R"({"prompt_tokens": 100, "cached_tokens": 40})",
         R"({"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}}})",
         R"({"response": {"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}}}})",
         R"({"usage": {"prompt_tokens": 100, "prompt_cache_hit_tokens": 40}})",
         R"({"usage": {"input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10}})"})
        EXPECT_NEAR(audit_of(line).all.served().value_or(-1), .4, 1e-9) << line;
    const LogAudit silent = audit_of(R"({"usage": {"prompt_tokens": 100}})");
    EXPECT_FALSE(silent.all.served().has_value()) << "nobody said how much came from a cache";
}

TEST(Audit, ReadsPromptsWhereTheyAreKept) {
    const std::string text = kRules + kRules;
    for (const std::string form :
         {R"({"prompt": "PROMPT"})", R"({"request": {"messages": [{"role": "user", "content": "PROMPT"}]}})",
          R"({"body": {"prompt": "PROMPT"}, "response": {}})",
          R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "PROMPT"}]}]})"}) {
        std::string line = form;
        line.replace(line.find("PROMPT"), 6, text);
        const LogAudit found = audit_of(line + "\n" + line + "\n");
        EXPECT_EQ(found.prompts, 2U) << form;
        EXPECT_GT(found.cacheable.value(), .3) << form;
    }
}

TEST(Audit, PromptsOfAnotherModelShareNothing) {
    const auto line = [](const std::string& model) {
        return fmt::format("{{\"class\": \"x\", \"model\": \"{}\", \"prompt\": \"{}\"}}\n", model,
                           kRules + kRules);
    };
    EXPECT_GT(audit_of(line("a") + line("a")).cacheable.value(), .3);
    EXPECT_EQ(audit_of(line("a") + line("b")).cacheable, 0);
}

TEST(Audit, RefusesALogThatHoldsNothingAndABrokenLine) {
    const auto refused = [](const std::string& text) {
        try {
            (void)audit_of(text);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("taken");
    };
    EXPECT_THAT(refused("{\"level\": \"info\"}\n{}\n"), HasSubstr("no line holds"));
    EXPECT_THAT(refused("{\"prompt\": \"x\"}\nnot JSON\n"), HasSubstr(":2: not JSON"));
    EXPECT_THROW(audit_of_log("no/such/log"), Error);
    EXPECT_EQ(audit_of("{\"prompt\": \"x\"}\n{\"level\": \"info\"}\n").without_anything, 1U);
}

TEST(Audit, SaysWhatItForgotWhereItsTableIsTooSmall) {
    const auto line = [](int i) {
        std::string text;
        for (int k = 0; k < 200; ++k) text += fmt::format("{}-{} ", i % 50, k * 31 + i % 50);
        return fmt::format("{{\"prompt\": \"{}\"}}\n", text);
    };
    const std::string log = log_of(100, line);
    const LogAudit roomy = audit_of(log);
    EXPECT_EQ(roomy.blocks_forgotten, 0U);
    EXPECT_GT(roomy.cacheable.value(), .4);
    const LogAudit cramped = audit_of(log, {.blocks = 16});
    EXPECT_EQ(cramped.blocks_room, 16U);
    EXPECT_GT(cramped.blocks_forgotten, 100U);
    EXPECT_LT(cramped.cacheable.value(), roomy.cacheable.value());
}

TEST(BlockTable, CountsWholeBlocksBehindTheSameBeginningOnly) {
    BlockTable table(1024);
    const std::string one(600, 'a');
    EXPECT_EQ(table.seen_bytes(one, 0), 0U);
    EXPECT_EQ(table.seen_bytes(one, 0), 512U);
    EXPECT_EQ(table.seen_bytes(one + std::string(300, 'b'), 0), 512U);
    EXPECT_EQ(table.seen_bytes("x" + one, 0), 0U) << "the same blocks stand behind something else";
    EXPECT_EQ(table.seen_bytes(one, 7), 0U) << "another model";
}

TEST(ChangingPart, IsFoundWithTheWordsAroundItAndCanBeMovedBack) {
    const std::string tail = " and from here on everything is the same for long enough to be sure of that.";
    const std::string one = "Hello Ms Miller, your id is 7f3a-99" + tail;
    const std::string other = "Hello Ms Miller, your id is 81c0-12" + tail;
    const auto part = changing_part(one, other);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->text, "81c0-12");
    EXPECT_EQ(part->at, other.find("81c0-12"));
    EXPECT_EQ(moved_back(*part, one), "Hello Ms Miller, your id is " + tail + "7f3a-99");
    EXPECT_EQ(moved_back(*part, "Something else"), "Something else");
    EXPECT_FALSE(changing_part(one, one).has_value());
    EXPECT_FALSE(changing_part(one, one + " more").has_value()) << "a conversation that goes on";
    EXPECT_FALSE(changing_part("one question", "another question").has_value());
    const auto spaces = changing_part("Be kind." + tail, "Be kind. " + tail);
    ASSERT_TRUE(spaces.has_value());
    EXPECT_EQ(kind_of(spaces->text), ChangeKind::whitespace);
}

TEST(ChangingPart, HasALikelyKind) {
    for (const char* text :
         {"2026-11-22", "10:15:33", "22.11.2026", "22 November 2026", "Sunday", "2026-11-22T10:15:33Z"})
        EXPECT_EQ(kind_of(text), ChangeKind::date) << text;
    for (const char* text : {"7f3a99", "550e8400-e29b-41d4-a716-446655440000", "req_81c0"})
        EXPECT_EQ(kind_of(text), ChangeKind::id) << text;
    for (const char* text : {"17", "3.5", "1,234"}) EXPECT_EQ(kind_of(text), ChangeKind::number) << text;
    EXPECT_EQ(kind_of("Miller"), ChangeKind::name);
    EXPECT_EQ(kind_of("kindly"), ChangeKind::text);
    EXPECT_EQ(kind_of("\n\n"), ChangeKind::whitespace);
    EXPECT_EQ(redacted("a name of more than twenty characters"), "a name of more than …");
    EXPECT_EQ(redacted("short"), "short");
}

}  // namespace
}  // namespace paretoken::datasets
