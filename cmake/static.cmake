# JOULERY_STATIC: programs and modules that need glibc alone, for packages that must run on other distributions.
# sqlite3, zstd, zlib and the compiler's libraries are archives of Debian's; of fmt it has none, so cmake/compat/fmt.cpp makes one.
# Included once the shared libraries were found; it puts the archives in their place.
# Linked by ld: mold 1.10 keeps an import (arc4random of glibc 2.36) whose only user --gc-sections removed.
if(JOULERY_STATIC)
  function(joulery_archive target name)
    find_library(JOULERY_ARCHIVE_${name} NAMES lib${name}.a REQUIRED)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${JOULERY_ARCHIVE_${name}};m;dl;pthread")
  endfunction()
  joulery_archive(PkgConfig::SQLITE sqlite3)
  joulery_archive(PkgConfig::ZSTD zstd)
  joulery_archive(PkgConfig::ZLIB z)

  # The file that find_package(fmt) found gives way to ours; what is compiled against it stays as it is.
  add_library(joulery_fmt STATIC cmake/compat/fmt.cpp)
  get_target_property(configurations fmt::fmt IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_${configuration} ${CMAKE_BINARY_DIR}/libjoulery_fmt.a)
  endforeach()

  add_library(joulery_older_glibc OBJECT cmake/compat/dl_find_object.c cmake/compat/hypot.c)
endif()

# joulery_self_contained(TARGET): after its target_link_libraries; does nothing where JOULERY_STATIC is off.
function(joulery_self_contained target)
  if(JOULERY_STATIC)
    target_link_libraries(${target} PRIVATE joulery_older_glibc)
    add_dependencies(${target} joulery_fmt)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -fuse-ld=bfd -Wl,--gc-sections -Wl,--as-needed -Wl,--exclude-libs,ALL)
  endif()
endfunction()
