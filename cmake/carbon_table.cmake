# Turns data/carbon_intensity.csv and data/carbon_sources.csv into one C++ file of constant tables:
#   cmake -DPLACES=... -DSOURCES=... -DOUTPUT=... -P carbon_table.cmake
# The files hold no quotes, semicolons or commas inside fields (scripts/build_carbon_table sees to it).

cmake_minimum_required(VERSION 3.25)

# Reads the lines after the header; sets `lines` for the caller.
function(read_rows file header)
  file(STRINGS "${file}" all ENCODING UTF-8)
  list(POP_FRONT all first)
  if(NOT first STREQUAL header)
    message(FATAL_ERROR "${file}: the first line is '${first}', not '${header}'")
  endif()
  set(lines "${all}" PARENT_SCOPE)
endfunction()

# "a,b,,d" to a list that keeps empty fields.
macro(split_row line)
  string(REPLACE "," ";" fields "${line}")
endmacro()

set(text "// Made from data/carbon_intensity.csv and data/carbon_sources.csv by cmake/carbon_table.cmake.\n")
string(APPEND text "#include \"factors/places.h\"\n\nnamespace joulery {\nnamespace {\n\n")

read_rows("${SOURCES}" "id,title,publisher,licence,origin")
string(APPEND text "constexpr FactorSource sources[] = {\n")
foreach(line IN LISTS lines)
  split_row("${line}")
  list(LENGTH fields count)
  if(NOT count EQUAL 5)
    message(FATAL_ERROR "${SOURCES}: ${count} fields instead of 5: ${line}")
  endif()
  list(GET fields 0 id)
  list(GET fields 1 title)
  list(GET fields 2 publisher)
  list(GET fields 3 licence)
  list(GET fields 4 origin)
  string(APPEND text "    {\"${id}\", \"${title}\", \"${publisher}\", \"${licence}\", \"${origin}\"},\n")
endforeach()
string(APPEND text "};\n\nconstexpr Place places[] = {\n")

read_rows("${PLACES}" "kind,code,alpha3,name,aliases,parent,g_per_kwh,year,source,pue,pue_source")
foreach(line IN LISTS lines)
  split_row("${line}")
  list(LENGTH fields count)
  if(NOT count EQUAL 11)
    message(FATAL_ERROR "${PLACES}: ${count} fields instead of 11: ${line}")
  endif()
  list(GET fields 0 kind)
  string(REPLACE "-" "_" kind "${kind}")
  foreach(index RANGE 1 10)
    list(GET fields ${index} value_${index})
  endforeach()
  if(value_9 STREQUAL "")
    set(value_9 0)
  endif()
  string(APPEND text "    {PlaceKind::${kind}, \"${value_1}\", \"${value_2}\", \"${value_3}\", \"${value_4}\", \"${value_5}\", "
                     "grams_per_kilowatt_hour(${value_6}), ${value_7}, \"${value_8}\", ${value_9}, \"${value_10}\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\n")
string(APPEND text "std::span<const Place> all_places() { return places; }\n")
string(APPEND text "std::span<const FactorSource> all_factor_sources() { return sources; }\n\n}  // namespace joulery\n")
file(WRITE "${OUTPUT}" "${text}")
