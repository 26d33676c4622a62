#pragma once
// Returns the message of an action that must fail.
#include <functional>
#include <string>

#include "core/error.h"

namespace paretoken {

/// Returns the message of the Thrown that `action` throws; other exceptions pass through.
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
