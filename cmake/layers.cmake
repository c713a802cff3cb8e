# joulery_layer(NAME SOURCES... [USES lib...]): the static library of one folder of the staircase.
# Each layer links the one before it, so the order of add_subdirectory() in the root file is the order of the stairs.
set_property(GLOBAL PROPERTY JOULERY_LAST_LAYER "")

function(joulery_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  get_property(above GLOBAL PROPERTY JOULERY_LAST_LAYER)
  if(ARG_SOURCES)
    add_library(joulery_${name} STATIC ${ARG_SOURCES})
    target_include_directories(joulery_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(joulery_${name} PUBLIC ${above} PRIVATE joulery_options PUBLIC ${ARG_USES})
  else()
    add_library(joulery_${name} INTERFACE)
    target_link_libraries(joulery_${name} INTERFACE ${above} ${ARG_USES})
  endif()
  set_property(GLOBAL PROPERTY JOULERY_LAST_LAYER joulery_${name})
endfunction()
