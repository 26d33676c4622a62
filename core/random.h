#pragma once
// Reproducible random numbers: (seed, purpose, index) names a stream. Integers and uniform() are equal bit
// for bit on every platform; other distributions depend on the C library's log and pow in the last bit.
#include <cstdint>
#include <string_view>

namespace paretoken {

/// Returns a seed for one purpose ("arrivals", "prompts", …) and one index, from the user's seed.
std::uint64_t derived_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

/// Returns the seed of the simulated server of this number among those compared: the user's for 0.
std::uint64_t server_seed(std::uint64_t seed, std::uint64_t number);

/// splitmix64 (Steele, Lea, Flood 2014). It is cheap to seed, as a stream per request needs.
class Random {
  public:
    using result_type = std::uint64_t;

    explicit Random(std::uint64_t seed) : state_(seed) {}

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()();

    double uniform();                          ///< [0, 1)
    std::uint64_t below(std::uint64_t bound);  ///< [0, bound), bound > 0
    double exponential();                      ///< mean 1
    double normal();                           ///< mean 0, standard deviation 1
    double gamma(double shape);                ///< scale 1 (Marsaglia and Tsang 2000); shape > 0

  private:
    std::uint64_t state_;
};

}  // namespace paretoken
