# paretoken_folder(NAME links…): one static library of every .cpp below NAME/ (main.cpp is left to its executable).
# paretoken_tests(NAMES…): one test program per folder, of every *_test.cpp below tests/NAME/.

set(paretoken_warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(PARETOKEN_WERROR)
    list(APPEND paretoken_warnings -Werror)
endif()

add_library(paretoken_options INTERFACE)
target_include_directories(paretoken_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(paretoken_options INTERFACE ${paretoken_warnings})
if(PARETOKEN_SANITIZE)
    target_compile_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(paretoken_options INTERFACE -fsanitize=${PARETOKEN_SANITIZE})
endif()

function(paretoken_folder name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    if(NOT sources)
        file(WRITE ${CMAKE_BINARY_DIR}/generated/empty.cpp "")
        set(sources ${CMAKE_BINARY_DIR}/generated/empty.cpp)
    endif()
    add_library(${name} STATIC ${sources})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME paretoken_${name})
    target_link_libraries(${name} PUBLIC paretoken_options ${ARGN})
endfunction()

function(paretoken_tests)
    include(GoogleTest)
    file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.cpp)
    foreach(name IN LISTS ARGN)
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${name}/*_test.cpp)
        if(NOT sources)
            continue()
        endif()
        add_executable(${name}_test ${sources})
        target_link_libraries(${name}_test PRIVATE ${name} GTest::gmock_main nlohmann_json::nlohmann_json)
        target_compile_definitions(${name}_test PRIVATE
            PARETOKEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PARETOKEN_BINARY_DIR="${CMAKE_BINARY_DIR}")
        gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}/ PROPERTIES TIMEOUT 300 LABELS unit)
    endforeach()
endfunction()
