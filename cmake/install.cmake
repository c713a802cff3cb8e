# Where things go. Two shapes of the same build: a wheel (scikit-build-core calls CMake, SKBUILD is set), which holds the
# command and the Python package, and a system installation, of which CPack makes the .deb.
joulery_self_contained(joulery)
if(JOULERY_PYTHON)
  joulery_self_contained(joulery_python)
endif()

if(SKBUILD)
  install(TARGETS joulery RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  install(TARGETS joulery_python LIBRARY DESTINATION joulery)
  return()
endif()

include(GNUInstallDirs)
install(TARGETS joulery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS joulery_agent RUNTIME DESTINATION lib/joulery)
install(FILES integrations/systemd/joulery-agent.service DESTINATION lib/systemd/system)
install(FILES integrations/grafana/joulery.json integrations/prometheus/joulery.rules.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/joulery)
install(FILES docs/api/openapi.yaml docs/api/metrics.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS joulery_marks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/joulery DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/NOTICE)
  install(FILES NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# Manual pages, compressed as Debian wants them (gzip -n: the same bytes each time).
file(GLOB manual_pages CONFIGURE_DEPENDS docs/man/*.[1-9])
foreach(page ${manual_pages})
  get_filename_component(name ${page} NAME)
  string(REGEX MATCH "[1-9]$" section ${name})
  set(packed ${CMAKE_BINARY_DIR}/man/${name}.gz)
  add_custom_command(OUTPUT ${packed} DEPENDS ${page} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND sh -c "gzip -9nc \"$1\" > \"$2\"" sh ${page} ${packed})
  list(APPEND packed_pages ${packed})
  install(FILES ${packed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(joulery_man ALL DEPENDS ${packed_pages})

if(JOULERY_PYTHON)
  set(JOULERY_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where Python packages lie, relative to the prefix")
  install(TARGETS joulery_python LIBRARY DESTINATION ${JOULERY_PYTHON_DIR}/joulery)
  list(TRANSFORM JOULERY_PYTHON_FILES PREPEND python/joulery/ OUTPUT_VARIABLE python_files)
  install(FILES ${python_files} DESTINATION ${JOULERY_PYTHON_DIR}/joulery)
endif()

include(cmake/deb.cmake)
