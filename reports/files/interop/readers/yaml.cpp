#include "reports/files/interop/readers/yaml.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/text/json_nesting.h"
#include "reports/files/interop/readers/foreign_json.h"

#ifdef PARETOKEN_YAML
#include <yaml.h>
#endif

namespace paretoken::reports {

#ifdef PARETOKEN_YAML
namespace {

using Json = nlohmann::json;

/// A scalar without quotes as the core schema reads it: null, a truth value, a number or a text.
Json plain_scalar(const std::string& text) {
    if (text.empty() || text == "~" || text == "null") return nullptr;
    if (text == "true") return true;
    if (text == "false") return false;
    if (text == ".inf" || text == "+.inf" || text == "-.inf" || text == ".nan") return nullptr;
    const Json number = Json::parse(text, nullptr, false);
    return number.is_number() ? number : Json(text);
}

class YamlReader {
  public:
    YamlReader(const std::string& text, std::string where) : where_(std::move(where)) {
        yaml_parser_initialize(&parser_);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    ~YamlReader() { yaml_parser_delete(&parser_); }
    YamlReader(const YamlReader&) = delete;
    YamlReader& operator=(const YamlReader&) = delete;

    Json document() {
        for (;;) {
            Event event = next();
            if (event->type == YAML_STREAM_END_EVENT) refuse_foreign(where_, "it holds no YAML document");
            if (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT) continue;
            return value_of(*event, 0);
        }
    }

  private:
    struct Deleter {
        void operator()(yaml_event_t* event) const {
            yaml_event_delete(event);
            delete event;
        }
    };
    using Event = std::unique_ptr<yaml_event_t, Deleter>;

    Event next() {
        Event event(new yaml_event_t{});
        if (yaml_parser_parse(&parser_, event.get()) == 0)
            refuse_foreign(where_, fmt::format("invalid YAML in line {} ({}); is the file complete?",
                                               parser_.problem_mark.line + 1,
                                               parser_.problem == nullptr ? "unreadable" : parser_.problem));
        return event;
    }

    static std::string text_of_scalar(const yaml_event_t& event) {
        return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
    }

    Json value_of(const yaml_event_t& event, std::size_t depth) {
        if (depth > kDeepestJson)
            refuse_foreign(where_, fmt::format("nested deeper than {} levels", kDeepestJson));
        if (event.type == YAML_SCALAR_EVENT) {
            std::string text = text_of_scalar(event);
            if (event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) return plain_scalar(text);
            return text;
        }
        if (event.type == YAML_SEQUENCE_START_EVENT) {
            Json array = Json::array();
            for (Event item = next(); item->type != YAML_SEQUENCE_END_EVENT; item = next())
                array.push_back(value_of(*item, depth + 1));
            return array;
        }
        if (event.type == YAML_MAPPING_START_EVENT) {
            Json object = Json::object();
            for (Event key = next(); key->type != YAML_MAPPING_END_EVENT; key = next()) {
                if (key->type != YAML_SCALAR_EVENT) refuse_foreign(where_, "a key of a mapping is no text");
                const std::string name = text_of_scalar(*key);
                object[name] = value_of(*next(), depth + 1);
            }
            return object;
        }
        refuse_foreign(where_, "YAML aliases are not read");
    }

    yaml_parser_t parser_{};
    std::string where_;
};

}  // namespace

nlohmann::json foreign_yaml(const std::string& text, const std::string& where) {
    try {
        return YamlReader(text, where).document();
    } catch (const nlohmann::json::exception& error) {
        refuse_foreign(where, fmt::format("invalid YAML ({})", error.what()));
    }
}
#else
nlohmann::json foreign_yaml(const std::string&, const std::string& where) {
    refuse_foreign(where,
                   "this program was built without libyaml and reads no YAML; convert the file to JSON");
}
#endif

}  // namespace paretoken::reports
