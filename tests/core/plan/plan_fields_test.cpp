#include "core/plan/plan_fields.h"
#include "core/plan/plan_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/plan/plan.h"

namespace paretoken {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Returns a value of each field that is not its default.
const std::map<std::string, Texts, std::less<>>& other_values() {
    static const std::map<std::string, Texts, std::less<>> kValues = {
        {"url", {"http://localhost:8000"}},
        {"model", {"llama"}},
        {"endpoint_type", {"completions"}},
        {"endpoint", {"/v2/chat"}},
        {"header", {"x-key: sesame", "x-tenant: blue"}},
        {"api_key_env", {"MY_KEY"}},
        {"insecure", {"true"}},
        {"ca_file", {"ca.pem"}},
        {"server_cmd", {"serve --port {port}"}},
        {"server_env", {"HF_TOKEN=sesame", "CUDA_VISIBLE_DEVICES=0"}},
        {"ready_url", {"/ready"}},
        {"ready_timeout", {"90s"}},
        {"reset_cache", {"true"}},
        {"after_run_cmd", {"sync-caches"}},
        {"virtual", {"true"}},
        {"turnaround", {"250us"}},
        {"write_time", {"1us"}},
        {"concurrency", {"8"}},
        {"max_in_flight", {"32"}},
        {"prefill_concurrency", {"4"}},
        {"ramp_up", {"4s"}},
        {"think_time", {"exponential:mean=2s"}},
        {"tool_scale", {"0.5"}},
        {"tool_time", {"lognormal:mean=5s,cv=1"}},
        {"idle_cap", {"60s"}},
        {"idle_job_cap", {"300s"}},
        {"start_inside", {"0.25..0.75+10"}},
        {"idle_system_cap", {"10s"}},
        {"rules", {"agentx"}},
        {"session_header", {"X-Session=job"}},
        {"session_field", {"cache_salt=job"}},
        {"session_token", {"x-session-token=job"}},
        {"request_rate", {"inf"}},
        {"arrivals", {"gamma:burstiness=0.5,rate=4"}},
        {"burstiness", {"0.25"}},
        {"num_prompts", {"250"}},
        {"duration", {"90s"}},
        {"num_warmups", {"16"}},
        {"stop", {"errors=5%", "tokens=1M"}},
        {"grace", {"5s"}},
        {"warmup_duration", {"20s"}},
        {"no_keepalive", {"true"}},
        {"no_preconnect", {"true"}},
        {"workers", {"2"}},
        {"spin", {"200us"}},
        {"user_timestamps", {"true"}},
        {"scrape", {"http://localhost:9090/metrics", "node=http://localhost:9100/metrics"}},
        {"scrape_keep", {"node_load1", "node_(memory|disk).*"}},
        {"scrape_interval", {"5s"}},
        {"shard", {"1/4"}},
        {"shards", {"4"}},
        {"rendezvous", {"host:7000"}},
        {"rendezvous_timeout", {"300s"}},
        {"start_at", {"2026-11-21T09:38:00Z"}},
        {"power", {"dcgm=http://localhost:9400/metrics"}},
        {"listen", {"127.0.0.1:9464"}},
        {"traceparent", {"true"}},
        {"server_profile", {"true"}},
        {"events", {"sample=10"}},
        {"timeout", {"30s"}},
        {"class_name", {"interactive"}},
        {"class", {"a:rate=4", "b:rate=2,isl=64"}},
        {"priority", {"-3"}},
        {"dataset", {"custom"}},
        {"dataset_path", {"prompts.jsonl"}},
        {"dataset_content", {"00112233445566aa"}},
        {"isl", {"lognormal:mean=512;cv=1"}},
        {"osl", {"64k"}},
        {"range_ratio", {"0.2"}},
        {"prompt_form", {"text"}},
        {"ignore_eos", {"false"}},
        {"max_completion_tokens", {"true"}},
        {"temperature", {"0.7"}},
        {"extra_body", {R"({"top_k": 5, "stop": ["\n"]})"}},
        {"refused_by_server", {"ignore_eos"}},
        {"seed", {"18446744073709551615"}},
        {"salt", {"s"}},
        {"text", {"book.txt"}},
        {"text_content", {"00112233445566bb"}},
        {"salt_prompts", {"true"}},
        {"replies", {"recorded"}},
        {"keep_answers", {"true"}},
        {"route", {"prefix"}},
        {"cancel", {"p=.05,after=2s"}},
        {"out", {"runs/here"}},
        {"overwrite", {"true"}},
        {"metadata", {"build=7", "team=blue"}},
        {"gpu", {"h100x2"}},
        {"model_card", {"llama-3.1-8b:kv=fp8"}},
        {"goodput", {"ttft:500", "tpot:15"}},
        {"slo", {"ttft_p95:800", "tpot:20"}},
        {"require", {"met"}},
        {"host_noise", {"accept"}},
        {"max_failed", {"0.25"}},
        {"probe", {"recall:ctx=4k,n=40"}},
        {"alerts", {"alerts.json"}},
        {"baseline", {"runs/before"}},
    };
    return kValues;
}

LoadPlan changed(const PlanField& field) {
    LoadPlan plan;
    field.value.set(plan, 0, other_values().at(std::string(field.name)));
    return plan;
}

/// Returns whether a field is the name of a class, which changes the keys of all its fields and is no option.
bool is_class_name(const PlanField& field) {
    return field.name == "class_name";
}

TEST(PlanFields, have_names_and_options_of_their_own) {
    std::set<std::string_view> names;
    std::set<std::string> options;
    for (const PlanField& field : plan_fields()) {
        EXPECT_TRUE(names.insert(field.name).second) << field.name;
        EXPECT_TRUE(options.insert(option_of(field)).second) << field.name;
        EXPECT_EQ(field.flags.empty(), field.help.empty()) << field.name;
        EXPECT_EQ(field.flags.empty(), field.group.empty()) << field.name;
        EXPECT_TRUE(other_values().contains(field.name)) << "the tests below need a value of " << field.name;
    }
    EXPECT_EQ(option_of(*plan_field_named("num_prompts")), "--num-prompts");
    EXPECT_EQ(option_of(*plan_field_named("header")), "--header");
}

TEST(PlanFields, each_changed_alone_is_named_as_the_difference_with_both_values) {
    for (const PlanField& field : plan_fields()) {
        const LoadPlan plan = changed(field);
        EXPECT_NE(plan, LoadPlan{}) << field.name;
        EXPECT_FALSE(difference(plan, plan)) << field.name;
        const auto found = difference(LoadPlan{}, plan);
        ASSERT_TRUE(found) << field.name;
        if (is_class_name(field)) continue;
        EXPECT_EQ(found->field->name, field.name);
        EXPECT_EQ(found->name, option_of(field));
        const PlanEcho echo = echo_of(plan);
        EXPECT_EQ(found->after, echo.at(std::string(field.name)));
        EXPECT_NE(found->before, found->after) << field.name;
    }
}

TEST(PlanFields, each_changes_the_fingerprint_exactly_if_it_belongs_to_the_workload) {
    const std::string before = workload_fingerprint({});
    EXPECT_EQ(before.size(), 16U);
    for (const PlanField& field : plan_fields()) {
        EXPECT_EQ(workload_fingerprint(changed(field)) != before, field.kind == FieldKind::workload)
            << field.name;
    }
}

TEST(PlanFields, each_option_is_the_same_after_being_written_and_read) {
    const auto environment = [](const std::string& variable) -> std::optional<std::string> {
        if (variable == "PARETOKEN_HEADER_X_KEY") return "sesame";
        if (variable == "PARETOKEN_HEADER_X_TENANT") return "blue";
        if (variable == "PARETOKEN_SERVER_ENV_HF_TOKEN") return "sesame";
        return std::nullopt;
    };
    for (const PlanField& field : plan_fields()) {
        if (field.flags.empty()) continue;
        const LoadPlan plan = changed(field);
        PlanTexts texts = texts_of(plan);
        restore_secrets(texts, environment);
        EXPECT_EQ(plan_of(texts), plan) << field.name;
    }
}

TEST(PlanFields, each_shows_in_the_echo_and_secrets_do_not) {
    for (const PlanField& field : plan_fields()) {
        const PlanEcho echo = echo_of(changed(field));
        const std::string key = is_class_name(field) ? "interactive.class_name" : std::string(field.name);
        ASSERT_TRUE(echo.contains(key)) << key;
        if (field.shown == nullptr) {
            EXPECT_THAT(echo.at(key), HasSubstr(other_values().at(std::string(field.name)).front()));
        } else if (field.name == "header") {
            EXPECT_EQ(echo.at(key), "x-key: ***, x-tenant: ***");
        } else if (field.name == "server_env") {
            EXPECT_EQ(echo.at(key), "HF_TOKEN=***, CUDA_VISIBLE_DEVICES=0");
        }
    }
}

TEST(PlanFields, a_secret_is_in_no_text_that_may_be_stored_and_yet_a_difference) {
    const PlanField& field = *plan_field_named("header");
    LoadPlan before;
    field.value.set(before, 0, {"x-key: sesame"});
    LoadPlan after;
    field.value.set(after, 0, {"x-key: opensesame"});
    EXPECT_EQ(texts_of(before).at("header"), Texts{"x-key: ***"});
    const auto found = difference(before, after);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->before, "x-key: ***");
    EXPECT_EQ(found->after, "x-key: ***");
    EXPECT_FALSE(difference(echo_of(before), echo_of(after)));
}

TEST(PlanFields, a_secret_that_the_environment_lacks_is_asked_for_by_its_variable) {
    PlanTexts texts{{"header", {"x-key: ***"}}};
    try {
        restore_secrets(texts, [](const std::string&) { return std::nullopt; });
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("PARETOKEN_HEADER_X_KEY"));
    }
}

TEST(PlanFields, credentials_in_a_url_are_hidden_and_read_again_from_the_environment) {
    const LoadPlan plan = plan_of({{"url", {"http://me:sesame@host:1/v1"}}});
    PlanTexts texts = texts_of(plan);
    EXPECT_THAT(texts.at("url").front(), Not(HasSubstr("sesame")));
    EXPECT_THAT(echo_of(plan).at("url"), Not(HasSubstr("sesame")));
    restore_secrets(texts, [](const std::string& variable) -> std::optional<std::string> {
        if (variable == "PARETOKEN_URL") return "http://me:sesame@host:1/v1";
        return std::nullopt;
    });
    EXPECT_EQ(plan_of(texts), plan);
}

TEST(Difference, names_the_first_field_of_the_list_among_those_that_are_compared) {
    LoadPlan after;
    after.workers = 2;
    after.sampling.temperature = 0.7;
    EXPECT_EQ(difference({}, after)->name, "--workers");
    const auto found = difference(LoadPlan{}, after,
                                  [](const PlanField& field) { return field.kind == FieldKind::workload; });
    EXPECT_EQ(found->name, "--temperature");
    EXPECT_EQ(found->before, "");
    EXPECT_EQ(found->after, "0.7");
    EXPECT_FALSE(difference(LoadPlan{}, after,
                            [](const PlanField& field) { return field.kind == FieldKind::judging; }));
}

TEST(Difference, takes_what_an_echo_lacks_for_its_default) {
    PlanEcho older = echo_of({});
    older.erase("workers");
    EXPECT_FALSE(difference(older, echo_of({})));
    LoadPlan plan;
    plan.workers = 2;
    EXPECT_EQ(difference(older, echo_of(plan))->before, "1");
}

TEST(Difference, names_the_class_that_differs) {
    LoadPlan before;
    before.classes = {RequestClass{.name = "chat"}, RequestClass{.name = "batch"}};
    LoadPlan after = before;
    after.classes[1].concurrency = 4;
    EXPECT_EQ(difference(before, after)->name, "--concurrency of class batch");
    EXPECT_EQ(difference(echo_of(before), echo_of(after))->name, "--concurrency of class batch");
    EXPECT_EQ(workload_fingerprint(before), workload_fingerprint(after));
    after.classes[1].dataset.fields["isl"] = "64";
    EXPECT_NE(workload_fingerprint(before), workload_fingerprint(after));
}

void refused(const PlanTexts& texts, const std::string& word) {
    try {
        (void)plan_of(texts);
        ADD_FAILURE() << "accepted: " << texts.begin()->first;
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr(word));
    }
}

TEST(PlanOf, refuses_values_that_make_no_sense_and_names_the_option) {
    refused({{"concurrency", {"0"}}}, "--concurrency");
    refused({{"concurrency", {"many"}}}, "--concurrency");
    refused({{"prefill_concurrency", {"0"}}}, "--prefill-concurrency");
    refused({{"max_in_flight", {"0"}}}, "--max-in-flight");
    refused({{"ramp_up", {"slowly"}}}, "--ramp-up 'slowly'");
    refused({{"think_time", {"a while"}}}, "--think-time 'a while'");
    refused({{"request_rate", {"-1"}}}, "--request-rate");
    refused({{"burstiness", {"0"}}}, "--burstiness");
    refused({{"num_prompts", {"0"}}}, "--num-prompts");
    refused({{"duration", {"10 parsecs"}}}, "--duration '10 parsecs'");
    refused({{"duration", {"0s"}}}, "--duration");
    refused({{"workers", {"0"}}}, "--workers");
    refused({{"workers", {"257"}}}, "--workers");
    refused({{"prompt_form", {"verse"}}}, "--prompt-form 'verse'");
    refused({{"range_ratio", {"1"}}}, "--range-ratio");
    refused({{"header", {"no colon"}}}, "--header expected 'Name: value'");
    refused({{"header", {"a: b\r\nc: d"}}}, "--header");
    refused({{"metadata", {"noequals"}}}, "--metadata 'noequals'");
    refused({{"goodput", {"ttft:500 speed:5"}}}, "speed");
    refused({{"goodput", {"ttft_p95:500"}}}, "goodput judges every request");
    refused({{"slo", {"itl_p95:5"}}}, "pooled");
    refused({{"slo", {"@mlperf:gpt-2"}}}, "known: @chat, @mlperf:llama2-70b");
    refused({{"server_env", {"A"}}}, "--server-env expected NAME=VALUE");
    refused({{"ready_timeout", {"0s"}}}, "--ready-timeout");
    refused({{"max_failed", {"10"}}}, "--max-failed '10': expected a share");
    refused({{"max_failed", {"101%"}}}, "--max-failed");
    refused({{"max_failed", {"few"}}}, "--max-failed");
    refused({{"seed", {"-1"}}}, "--seed");
    refused({{"timeout", {"0s"}}}, "--timeout must be above 0");
    refused({{"metadata", {"a=1", "b=1", "a=2"}}}, "--metadata 'a=2': a is given twice");
    refused({{"model", {"a=1e308,b=1e308"}}}, "--model");
    refused({{"ignore_eos", {"maybe"}}}, "--ignore-eos");
    refused({{"model", {"a", "b"}}}, "--model");
}

TEST(PlanOf, refuses_names_that_are_no_options) {
    refused({{"temprature", {"1"}}}, "temprature");
    refused({{"dataset_content", {"00"}}}, "dataset_content");
}

TEST(PlanOf, reads_a_share_with_and_without_its_percent_sign) {
    EXPECT_EQ(plan_of({}).max_failed, 0.1);
    EXPECT_DOUBLE_EQ(plan_of({{"max_failed", {"2.5%"}}}).max_failed, 0.025);
    EXPECT_DOUBLE_EQ(plan_of({{"max_failed", {"0.5"}}}).max_failed, 0.5);
}

TEST(PlanOf, reads_the_forms_that_other_tools_write) {
    const LoadPlan plan = plan_of({{"num_prompts", {"2k"}},
                                   {"goodput", {"ttft:500  tpot:15", "e2el:2000"}},
                                   {"request_rate", {"inf"}},
                                   {"isl", {"uniform:min=1,max=8"}}});
    EXPECT_EQ(plan.stop.requests, 2000U);
    EXPECT_EQ(plan.classes[0].goodput, (Texts{"ttft:500", "tpot:15", "e2el:2000"}));
    EXPECT_EQ(plan.classes[0].request_rate, std::numeric_limits<double>::infinity());
    EXPECT_EQ(plan.classes[0].dataset.fields.at("isl"), "uniform:min=1;max=8");
}

TEST(PlanOf, refuses_a_length_that_is_given_twice) {
    EXPECT_EQ(plan_of({{"dataset", {"synthetic:isl=64"}}}),
              plan_of({{"dataset", {"synthetic"}}, {"isl", {"64"}}}));
    refused({{"dataset", {"synthetic:isl=64"}}, {"isl", {"128"}}}, "--isl '128'");
    refused({{"isl", {"1,000"}}}, "write 1000");
    refused({{"dataset", {"custom:path=a.jsonl"}}, {"dataset_path", {"b.jsonl"}}},
            "--dataset-path 'b.jsonl': --dataset says path=a.jsonl");
    const LoadPlan with_path =
        plan_of({{"dataset", {"custom:path=a.jsonl"}}, {"class", {"x:rate=1,path=b.jsonl"}}});
    EXPECT_EQ(with_classes(with_path).classes.front().dataset_path, "b.jsonl") << "a class has its own";
}

// ---- classes

TEST(Classes, have_what_they_say_over_what_all_have_in_common) {
    const LoadPlan asked =
        plan_of({{"isl", {"100"}},
                 {"osl", {"10"}},
                 {"request_rate", {"9"}},
                 {"class",
                  {"interactive:rate=4,isl=512,goodput=ttft:500;tpot:50,priority=-1",
                   "batch:concurrency=2,isl=uniform:min=4k;max=8k",
                   "replay:path=t.jsonl,dataset=mooncake:block=256,arrivals=trace:scale=2;spread=1s"}}});
    EXPECT_EQ(asked.classes.size(), 1U);
    EXPECT_EQ(plan_of(texts_of(asked)), asked);
    const LoadPlan plan = with_classes(asked);
    EXPECT_EQ(with_classes(plan), plan);
    ASSERT_EQ(plan.classes.size(), 3U);
    const RequestClass& interactive = plan.classes[0];
    EXPECT_EQ(interactive.name, "interactive");
    EXPECT_EQ(interactive.request_rate, 4);
    EXPECT_EQ(interactive.dataset.fields.at("isl"), "512");
    EXPECT_EQ(interactive.dataset.fields.at("osl"), "10");
    EXPECT_EQ(interactive.goodput, (Texts{"ttft:500", "tpot:50"}));
    EXPECT_EQ(interactive.priority, -1);
    const RequestClass& batch = plan.classes[1];
    EXPECT_FALSE(batch.request_rate) << "its load takes the place of the common one";
    EXPECT_EQ(batch.concurrency, 2U);
    EXPECT_EQ(batch.dataset.fields.at("isl"), "uniform:min=4k;max=8k");
    EXPECT_TRUE(batch.goodput.empty());
    const RequestClass& replay = plan.classes[2];
    EXPECT_EQ(replay.dataset.name, "mooncake");
    EXPECT_EQ(replay.dataset.fields.at("block"), "256");
    EXPECT_FALSE(replay.dataset.fields.contains("isl"));
    EXPECT_EQ(replay.dataset_path, "t.jsonl");
    EXPECT_EQ(text_of(*replay.arrivals), "trace:scale=2,spread=1s");
    EXPECT_EQ(echo_of(plan).at("batch.concurrency"), "2");
}

TEST(Classes, write_a_semicolon_of_a_value_twice) {
    const LoadPlan asked =
        plan_of({{"class",
                  {"a:arrivals=steps:rates=2;;8;each=5s,cancel=p=.5;after=uniform:min=1s;;max=3s",
                   "b:dataset=shared_prefix:groups=8;levels=1000;;500;unique=200"}}});
    EXPECT_EQ(plan_of(texts_of(asked)), asked);
    const LoadPlan plan = with_classes(asked);
    EXPECT_EQ(plan.classes[0].arrivals->fields.at("rates"), "2;8");
    EXPECT_EQ(plan.classes[0].arrivals->fields.at("each"), "5s");
    EXPECT_EQ(plan.classes[0].cancel, "p=.5,after=uniform:min=1s;max=3s");
    EXPECT_EQ(plan.classes[1].dataset.fields.at("levels"), "1000;500");
    EXPECT_EQ(plan.classes[1].dataset.fields.at("unique"), "200");
}

TEST(Classes, are_refused_by_name) {
    const auto message = [](const Texts& specs) {
        try {
            with_classes(plan_of({{"class", specs}}));
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(message({"interactive"}), HasSubstr("--class 'interactive': expected NAME:KEY=VALUE"));
    EXPECT_THAT(message({"a:rate=1", "a:rate=2"}), HasSubstr("two classes 'a'"));
    EXPECT_THAT(message({"a:rate=1,colour=red"}), HasSubstr("--class a: 'colour=red' is not KEY=VALUE"));
    EXPECT_THAT(message({"a:rate=0"}), HasSubstr("--class a: request_rate '0': a rate is above 0"));
    EXPECT_THAT(message({"a:rate=1,rate=2"}), HasSubstr("given twice"));
    for (const char* steps : {"a:arrivals=steps:rates=2;8;each=5s", "a:arrivals=steps:rates=2;;8,each=5s"})
        EXPECT_THAT(message({steps}), HasSubstr("';' stands for ',' and ';;' for ';'")) << steps;
}

TEST(Targets, are_cut_where_an_address_begins) {
    const LoadPlan plan = plan_of({{"url", {"http://a:1/x,y,https://b,sim:ideal?ttft=1ms"}}});
    EXPECT_EQ(plan.targets, (std::vector<std::string>{"http://a:1/x,y", "https://b", "sim:ideal?ttft=1ms"}));
    EXPECT_EQ(echo_of(plan).at("url"), "http://a:1/x,y,https://b,sim:ideal?ttft=1ms");
    const LoadPlan secret = plan_of({{"url", {"http://u:KEY@a,http://v:KEY@b"}}});
    EXPECT_THAT(echo_of(secret).at("url"), Not(HasSubstr("KEY")));
}

}  // namespace
}  // namespace paretoken
