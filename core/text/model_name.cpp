#include "core/text/model_name.h"

#include "core/text/letter_case.h"

namespace paretoken {

std::string shown_model(std::string_view model) {
    constexpr std::string_view kExtension = ".gguf";
    const bool is_file = model.size() > kExtension.size() &&
                         lower_case(model.substr(model.size() - kExtension.size())) == kExtension;
    const std::size_t directory = is_file ? model.find_last_of("/\\") : std::string_view::npos;
    return std::string(directory == std::string_view::npos ? model : model.substr(directory + 1));
}

}  // namespace paretoken
