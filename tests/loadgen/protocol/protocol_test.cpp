#include "loadgen/protocol/protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "loadgen/protocol/body.h"

namespace paretoken::protocol {
namespace {

Request request_of(Prompt prompt) {
    Request request;
    request.prompt = std::move(prompt);
    request.wanted_output_tokens = 7;
    return request;
}

TEST(Protocols, are_found_by_their_names) {
    EXPECT_EQ(&default_protocol(), &kChat);
    EXPECT_EQ(protocol_named("completions"), &kCompletions);
    EXPECT_EQ(protocol_named("messages")->path, "/v1/messages");
    EXPECT_EQ(protocol_named("responses")->path, "/v1/responses");
    EXPECT_EQ(protocol_named("images"), nullptr);
    std::set<std::string_view> names, paths;
    for (const Protocol* protocol : protocols()) {
        names.insert(protocol->name);
        paths.insert(protocol->path);
    }
    EXPECT_EQ(names.size(), protocols().size());
    EXPECT_EQ(paths.size(), protocols().size());
}

TEST(Protocols, write_bodies_with_their_prompt_and_their_limit) {
    for (const Protocol* protocol : protocols()) {
        const auto body =
            nlohmann::json::parse(BodyWriter({.protocol = protocol, .model = "m"}).body(request_of("hi")));
        EXPECT_EQ(body["model"], "m") << protocol->name;
        EXPECT_EQ(body["stream"], true) << protocol->name;
        EXPECT_TRUE(body.contains(protocol->prompt_key)) << protocol->name;
        EXPECT_EQ(body[std::string(protocol->limit_key)], 7) << protocol->name;
    }
}

TEST(Protocols, send_only_the_fields_that_they_have) {
    for (const Protocol* protocol : protocols()) {
        const auto body = nlohmann::json::parse(BodyWriter({.protocol = protocol,
                                                            .continuous_usage = true,
                                                            .ignore_eos = true,
                                                            .return_token_ids = true})
                                                    .body(request_of("hi")));
        EXPECT_EQ(body.contains("ignore_eos"), has_field(*protocol, &BodyOptions::ignore_eos));
        EXPECT_EQ(body.contains("return_token_ids"), has_field(*protocol, &BodyOptions::return_token_ids));
        EXPECT_EQ(body.contains("stream_options"), has_field(*protocol, &BodyOptions::include_usage));
    }
}

TEST(Protocols, refuse_token_ids_that_they_do_not_take) {
    for (const Protocol* protocol : protocols()) {
        const BodyWriter writer({.protocol = protocol});
        const auto write = [&] { return writer.body(request_of(TokenIds{1, 2})); };
        if (protocol->takes_token_ids) {
            EXPECT_NO_THROW(write()) << protocol->name;
        } else {
            EXPECT_THROW(write(), std::invalid_argument) << protocol->name;
        }
    }
}

}  // namespace
}  // namespace paretoken::protocol
