# Finds the libraries that the programs use. With PARETOKEN_PORTABLE=ON (preset `dist`), they are linked into the programs
# (cmake/Portable.cmake). The target paretoken_fmt stands for fmt in either form.

option(PARETOKEN_PORTABLE "Build programs that run on other Linux distributions too; packaging/fetch fetches what this needs" OFF)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
add_library(paretoken_fmt INTERFACE)
if(PARETOKEN_PORTABLE)
    include(Portable)
else()
    find_package(OpenSSL REQUIRED)
    find_package(simdjson REQUIRED)
    find_package(benchmark REQUIRED)
    target_link_libraries(paretoken_fmt INTERFACE fmt::fmt)
endif()
