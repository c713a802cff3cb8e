# How everything is compiled. g++ 12 builds; clang 19 lints, fuzzes and runs the thread sanitizer; both on libstdc++ 12.
option(JOULERY_TESTS "Build the tests" ON)
option(JOULERY_FUZZ "Build the fuzz targets too (clang only)" OFF)
option(JOULERY_BENCH "Build the benchmarks" OFF)
option(JOULERY_PYTHON "Build the Python module" ON)
option(JOULERY_STATIC "Link third-party libraries statically (for packages)" OFF)
set(JOULERY_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(JOULERY_CCACHE ccache)
if(JOULERY_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${JOULERY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${JOULERY_CCACHE})
endif()

add_library(joulery_options INTERFACE)
target_compile_options(joulery_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(joulery_options INTERFACE -Wno-restrict)  # false alarms on std::string in g++ 12 (GCC bug 105329)
endif()
if(NOT JOULERY_STATIC)    # cmake/static.cmake says why not there
  # What is marked hot lies side by side, as ld lays it by itself.
  target_link_options(joulery_options INTERFACE -fuse-ld=mold -Wl,-z,keep-text-section-prefix)
endif()
if(JOULERY_SANITIZE)
  target_compile_options(joulery_options INTERFACE -fsanitize=${JOULERY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Vendors' libraries are called by declarations of our own, whose types have other names than those they were built with.
    target_compile_options(joulery_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=function>)
  endif()
  target_link_options(joulery_options INTERFACE -fsanitize=${JOULERY_SANITIZE})
endif()
if(JOULERY_FUZZ)
  target_compile_options(joulery_options INTERFACE -fsanitize=fuzzer-no-link)  # coverage, which leads the fuzzer
endif()
