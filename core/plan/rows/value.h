#pragma once
// How the rows of the fields read and write the members of a plan.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/plan_fields.h"
#include "core/spec.h"

namespace paretoken::rows {

// ---- values as texts; an empty text and an absent value have none

Texts texts_of(const std::string& value);
Texts texts_of(bool value);
Texts texts_of(std::uint32_t value);
Texts texts_of(std::uint64_t value);
Texts texts_of(std::int64_t value);
Texts texts_of(double value);
Texts texts_of(Duration value);
Texts texts_of(const Spec& value);
Texts texts_of(const std::vector<std::string>& value);
Texts texts_of(const std::map<std::string, std::string>& value);
template <class Value>
Texts texts_of(const std::optional<Value>& value) {
    return value ? texts_of(*value) : Texts{};
}

// ---- texts as values; each function throws UsageError naming the mistake

const std::string& only(const Texts& texts);

void read(const std::string& text, std::string& value);
void read(const std::string& text, bool& value);
void read(const std::string& text, std::uint32_t& value);
void read(const std::string& text, std::uint64_t& value);
void read(const std::string& text, std::int64_t& value);
void read(const std::string& text, double& value);
void read(const std::string& text, Duration& value);
void read(const std::string& text, Spec& value);
template <class Value>
void read(const std::string& text, std::optional<Value>& value) {
    read(text, value.emplace());
}

void read_texts(const Texts& texts, std::vector<std::string>& values);
void read_texts(const Texts& texts, std::map<std::string, std::string>& values);  ///< of "KEY=VALUE"
template <class Value>
void read_texts(const Texts& texts, Value& value) {
    read(only(texts), value);
}

// ---- the members of a plan

template <class Member>
inline constexpr FieldType kTypeOf = std::is_integral_v<Member> ? FieldType::count : FieldType::text;
template <>
inline constexpr FieldType kTypeOf<bool> = FieldType::flag;
template <>
inline constexpr FieldType kTypeOf<double> = FieldType::number;
template <>
inline constexpr FieldType kTypeOf<Duration> = FieldType::duration;
template <class Value>
inline constexpr FieldType kTypeOf<std::optional<Value>> = kTypeOf<Value>;
template <class Value>
inline constexpr FieldType kTypeOf<std::vector<Value>> = FieldType::list;
template <class Key, class Value>
inline constexpr FieldType kTypeOf<std::map<Key, Value>> = FieldType::list;

/// Reads and writes the member at the end of a path of members that begins in a LoadPlan or a RequestClass.
template <auto first, auto... further>
struct Path {
    template <class Owner, class Type>
    static Owner owner_of(Type Owner::*);
    static constexpr bool kOfClass = std::is_same_v<decltype(owner_of(first)), RequestClass>;

    static auto& of(auto& plan, std::size_t request_class) {
        if constexpr (kOfClass)
            return ((plan.classes[request_class].*first).*....*further);
        else
            return ((plan.*first).*....*further);
    }
    using Member = std::remove_cvref_t<decltype(of(std::declval<LoadPlan&>(), 0))>;

    static Texts get(const LoadPlan& plan, std::size_t request_class) {
        return texts_of(of(plan, request_class));
    }
    static void set(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        read_texts(texts, of(plan, request_class));
    }
    template <auto check>
    static void set_checked(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        set(plan, request_class, texts);
        check(std::as_const(of(plan, request_class)));
    }
};

/// A field that is the member at the end of a path: member<&LoadPlan::server, &ServerLaunch::command>.
template <auto... path>
constexpr FieldValue member = {.get = Path<path...>::get,
                               .set = Path<path...>::set,
                               .type = kTypeOf<typename Path<path...>::Member>,
                               .of_class = Path<path...>::kOfClass};

// These return a field with another function that sets it, and with another type than its member's.
constexpr FieldValue with_set(FieldValue value, decltype(FieldValue::set) set) {
    value.set = set;
    return value;
}
constexpr FieldValue typed(FieldType type, FieldValue value) {
    value.type = type;
    return value;
}

/// The field `member<path...>`; `check(value)` throws UsageError if the value is refused.
template <auto check, auto... path>
constexpr FieldValue checked = with_set(member<path...>, Path<path...>::template set_checked<check>);

}  // namespace paretoken::rows
