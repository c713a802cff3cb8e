# joulery_embed(OUT file...): a C++ source that holds the lines of small text tables, so that no file is needed at run
# time. Each data/NAME.csv becomes `std::span<const std::string_view> joulery::shipped::NAME()`, declared where it is used.
# Lines that begin with # (where the numbers come from) stay in the file and out of the program.
function(joulery_embed out)
  set(text "// Generated from data/ by cmake/embed.cmake.\n#include <span>\n#include <string_view>\n\nnamespace joulery::shipped {\n")
  foreach(path ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} lines)
    string(REPLACE "\\" "\\\\" lines "${lines}")
    string(REPLACE "\"" "\\\"" lines "${lines}")
    string(REGEX REPLACE "\n#[^\n]*" "" lines "\n${lines}")  # at the head of a line; elsewhere it is a digit in a pattern
    set(text "${text}\nstatic constexpr std::string_view ${name}_lines[] = {\n")
    string(REGEX REPLACE "([^\n]+)\n" "\"\\1\",\n" lines "${lines}")
    set(text "${text}${lines}};\nstd::span<const std::string_view> ${name}() { return ${name}_lines; }\n")
  endforeach()
  set(text "${text}\n}  // namespace joulery::shipped\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "@text@" @ONLY)
endfunction()
