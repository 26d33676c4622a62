#pragma once
// Catches the exception of an action that must fail, so that a test can check its message.
#include <functional>
#include <string>

#include "core/error.h"

namespace paretoken {

/// Returns the message of the exception of type `Thrown` that `action` throws, or "nothing of that kind was
/// thrown" if it throws nothing. Other exceptions are not caught.
template <class Thrown = Error>
std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Thrown& error) {
        return error.what();
    }
    return "nothing of that kind was thrown";
}

}  // namespace paretoken
