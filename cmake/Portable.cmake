# A portable build links every library but glibc and libgcc_s into the programs. fmt is used from its headers, OpenSSL comes from
# Debian's static libraries, and simdjson and Google Benchmark, which Debian has as shared libraries only, are compiled from
# Debian's source packages. The programs are linked against the older glibc of Debian 11, and cmake/old_glibc.c replaces the
# functions that would need a newer one than 2.28. packaging/fetch puts these parts into build/parts; docs/packaging.md says why.

set(PARETOKEN_PARTS ${CMAKE_SOURCE_DIR}/build/parts CACHE PATH "What packaging/fetch fetched")
foreach(part simdjson benchmark glibc)
    if(NOT IS_DIRECTORY ${PARETOKEN_PARTS}/${part})
        message(FATAL_ERROR "A portable build needs ${PARETOKEN_PARTS}/${part}: run packaging/fetch first (on Debian 12)")
    endif()
endforeach()

target_link_libraries(paretoken_fmt INTERFACE fmt::fmt-header-only)

set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)

add_library(paretoken_simdjson STATIC ${PARETOKEN_PARTS}/simdjson/singleheader/simdjson.cpp)
target_include_directories(paretoken_simdjson SYSTEM PUBLIC ${PARETOKEN_PARTS}/simdjson/singleheader)
target_compile_definitions(paretoken_simdjson PUBLIC SIMDJSON_THREADS_ENABLED=1)
add_library(simdjson::simdjson ALIAS paretoken_simdjson)

file(GLOB sources ${PARETOKEN_PARTS}/benchmark/src/*.cc)
list(FILTER sources EXCLUDE REGEX "/benchmark_main\\.cc$")
add_library(paretoken_benchmark STATIC ${sources})
target_include_directories(paretoken_benchmark SYSTEM PUBLIC ${PARETOKEN_PARTS}/benchmark/include)
target_compile_definitions(paretoken_benchmark PUBLIC BENCHMARK_STATIC_DEFINE
                           PRIVATE HAVE_STD_REGEX HAVE_STEADY_CLOCK HAVE_PTHREAD_AFFINITY)
target_link_libraries(paretoken_benchmark PUBLIC Threads::Threads)
add_library(benchmark::benchmark ALIAS paretoken_benchmark)

# Sources whose speed does not matter are compiled for size, and functions with the same code are kept once, so that the programs
# stay small (tests/packaging/programs_test.py).
set(cold core/plan core/run core/text core/validity simulator/answers loadgen/scrape loadgen/power loadgen/probe)
list(TRANSFORM cold REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.cpp")
file(GLOB_RECURSE cold ${cold})
file(GLOB cold_files ${CMAKE_SOURCE_DIR}/simulator/engine/*profile.cpp)
list(APPEND cold ${cold_files})
foreach(file cli/main core/bytes core/evidence/evidence core/evidence/sequential core/evidence/steadiness core/evidence/unpaired
             core/formats core/nearest core/record/reported core/result/alerts core/result/figures core/result/metric_summary
             core/result/metrics core/result/overload core/result/rates core/result/rounds core/result/slo
             core/result/summary core/result/totals core/result/window core/spec loadgen/advice loadgen/http/address loadgen/http/certificate_store loadgen/http/fetch
             loadgen/http/message loadgen/http/tls loadgen/http/url loadgen/load/arrival loadgen/load/jobs loadgen/load/limits
             loadgen/load/mix loadgen/load/schedule loadgen/load/stop_monitor loadgen/protocol/body loadgen/protocol/model_list
             loadgen/protocol/tokenize loadgen/route loadgen/run loadgen/virtual simulator/connection simulator/exchange simulator/faults simulator/gzip
             simulator/listener simulator/server simulator/session_token simulator/socket simulator/tls simulator/truth)
    list(APPEND cold ${CMAKE_SOURCE_DIR}/${file}.cpp)
endforeach()
set_source_files_properties(${cold} PROPERTIES COMPILE_OPTIONS -Os SKIP_PRECOMPILE_HEADERS ON)
string(REPLACE -O3 -O2 CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")  # but for the kernels, in CMakeLists.txt
add_link_options(-fuse-ld=gold -Wl,--icf=safe -Wl,-O2)

# The folders of the build do not appear in the programs, so that two builds from one commit have the same bytes.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}/=
                    -ffunction-sections -fdata-sections)

enable_language(C)
set(CMAKE_C_EXTENSIONS ON)
add_library(paretoken_old_glibc OBJECT ${CMAKE_SOURCE_DIR}/cmake/old_glibc.c)
set(libraries ${PARETOKEN_PARTS}/glibc/usr/lib/x86_64-linux-gnu)
link_libraries($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:paretoken_old_glibc>>)
add_link_options(--sysroot=${PARETOKEN_PARTS}/glibc -B${libraries} -L${libraries} -L${PARETOKEN_PARTS}/glibc/lib/x86_64-linux-gnu
                 -static-libstdc++ -Wl,--gc-sections -Wl,-s)
set(CMAKE_CXX_STANDARD_LIBRARIES "-ldl -lpthread -lm")
