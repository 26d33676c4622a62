#include "datasets/dataset.h"

#include <stdexcept>

namespace paretoken::datasets {

Request Dataset::follow_up(std::uint64_t, std::uint32_t, const Said&) const {
    throw std::logic_error("a follow-up was asked of a dataset without conversations");
}

}  // namespace paretoken::datasets
