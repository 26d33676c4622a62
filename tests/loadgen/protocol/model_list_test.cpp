#include "loadgen/protocol/model_list.h"

#include <gmock/gmock.h>

namespace paretoken::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names_in(std::string_view body) {
    std::vector<std::string> names;
    for (const ListedModel& model : listed_models(body)) names.push_back(model.name);
    return names;
}

TEST(ModelList, is_read_in_every_form) {
    EXPECT_THAT(names_in(R"({"object":"list","data":[{"id":"a"},{"id":"b"}]})"), ElementsAre("a", "b"));
    EXPECT_THAT(names_in(R"([{"id":"a","type":"chat"},{"id":"b"}])"), ElementsAre("a", "b"));
    EXPECT_THAT(names_in(R"({"models":[{"name":"a:latest","model":"a"},{"name":"b"}]})"),
                ElementsAre("a", "b"));
    EXPECT_THAT(names_in(R"({"data":["a",{"object":"model"},5,null]})"), ElementsAre("a"));
    for (const char* body :
         {"", "<html>", "{}", R"({"data":[]})", R"({"data":null})", R"({"error":"no"})", "7"})
        EXPECT_THAT(names_in(body), IsEmpty()) << body;
}

TEST(ModelList, may_be_empty) {
    for (const char* body : {R"({"data":[]})", R"({"object":"list","data":null})", R"({"models":[]})", "[]"})
        EXPECT_TRUE(is_model_list(body)) << body;
    for (const char* body : {"", "<html>", "{}", "null", "7", R"({"error":"no"})", R"({"data":{}})"})
        EXPECT_FALSE(is_model_list(body)) << body;
}

TEST(ModelList, tells_the_owner_and_the_context) {
    const auto models = listed_models(R"({"data":[{"id":"a","owned_by":"vllm","max_model_len":4096,
                                                   "root":"/models/a"},
                                                  {"id":"b","owned_by":null,"max_model_len":0}]})");
    ASSERT_EQ(models.size(), 2U);
    EXPECT_EQ(models[0], (ListedModel{"a", "vllm", 4096, "/models/a"}));
    EXPECT_EQ(models[1], (ListedModel{"b", "", std::nullopt}));
}

TEST(ModelList, gives_the_first_model_that_writes_text_or_the_one_that_was_asked_for) {
    const auto models = listed_models(R"(["text-embedding-3","whisper-1","chat","other"])");
    EXPECT_EQ(chosen_model(models, "")->name, "chat");
    EXPECT_EQ(chosen_model(models, "other")->name, "other");
    EXPECT_EQ(chosen_model(models, "unknown"), std::nullopt);
    EXPECT_EQ(chosen_model(listed_models(R"(["nomic-embed-text"])"), "")->name, "nomic-embed-text");
    EXPECT_EQ(chosen_model(listed_models(R"(["openai/*","gpt-image-1","chat"])"), "")->name, "chat");
    EXPECT_EQ(chosen_model({}, ""), std::nullopt);
}

}  // namespace
}  // namespace paretoken::protocol
