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

# Libraries that only some files of other load generators need. Without them, and in portable programs, these files are refused
# with an error that says so. The target paretoken_foreign stands for those that were found.
add_library(paretoken_foreign INTERFACE)
if(NOT PARETOKEN_PORTABLE)
    find_package(SQLite3 QUIET)
    find_path(PARETOKEN_YAML_INCLUDE yaml.h)
    find_library(PARETOKEN_YAML_LIBRARY yaml)
    if(SQLite3_FOUND)
        target_link_libraries(paretoken_foreign INTERFACE SQLite::SQLite3)
        target_compile_definitions(paretoken_foreign INTERFACE PARETOKEN_SQLITE)
    endif()
    if(PARETOKEN_YAML_INCLUDE AND PARETOKEN_YAML_LIBRARY)
        target_include_directories(paretoken_foreign SYSTEM INTERFACE ${PARETOKEN_YAML_INCLUDE})
        target_link_libraries(paretoken_foreign INTERFACE ${PARETOKEN_YAML_LIBRARY})
        target_compile_definitions(paretoken_foreign INTERFACE PARETOKEN_YAML)
    endif()
endif()
