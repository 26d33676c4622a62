#include "datasets/dataset.h"

#include <fmt/format.h>

#include <stdexcept>

#include "datasets/job.h"

namespace paretoken::datasets {

std::shared_ptr<const JobGraph> Dataset::job(std::uint64_t index) const {
    return std::make_shared<const JobGraph>(conversation_of(turns(index)));
}

Request Dataset::follow_up(std::uint64_t, std::uint32_t, const Said&) const {
    throw std::logic_error("a follow-up was asked of a dataset without conversations");
}

std::string request_id(const std::string& salt, std::uint64_t index) {
    return salt.empty() ? fmt::format("{}", index) : fmt::format("{}-{}", salt, index);
}

}  // namespace paretoken::datasets
