# joulery_bpf(OUT SOURCE): a C++ source that holds the compiled eBPF program SOURCE as bytes,
# `std::span<const unsigned char> joulery::shipped::oncpu_program()`. It needs a clang that knows the target bpf, nothing of
# the building machine's kernel. Without one, the program is empty, and who would load it says so.
set(joulery_bpf_script ${CMAKE_CURRENT_LIST_DIR}/bpf_bytes.cmake)
find_program(JOULERY_BPF_CLANG NAMES clang-19 clang-20 clang-21 clang-22 clang-18 clang-17 clang-16 clang)
if(JOULERY_BPF_CLANG)  # not every clang has the target
  execute_process(COMMAND ${JOULERY_BPF_CLANG} -target bpf -mcpu=v3 -x c -c /dev/null -o /dev/null RESULT_VARIABLE joulery_bpf_failed
                  OUTPUT_QUIET ERROR_QUIET)
endif()
find_program(JOULERY_BPF_STRIP NAMES llvm-strip-19 llvm-strip)

function(joulery_bpf out source)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(compiled)
  if(JOULERY_BPF_CLANG AND NOT joulery_bpf_failed)
    set(strip COMMAND ${CMAKE_COMMAND} -E true)
    if(JOULERY_BPF_STRIP)
      set(strip COMMAND ${JOULERY_BPF_STRIP} -g ${object})
    endif()
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/watch/oncpu_layout.h VERBATIM
      COMMAND ${JOULERY_BPF_CLANG} -O2 -g -Wall -Wextra -Werror -target bpf -mcpu=v3 -fno-ident -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
              -I${PROJECT_SOURCE_DIR}/src -c ${source} -o ${object}
      ${strip}
      COMMENT "eBPF program ${name}")
    set(compiled ${object})
  else()
    message(WARNING "No clang with the target bpf: built without the eBPF program, so processes that come and go between two looks are not seen by name")
  endif()
  add_custom_command(OUTPUT ${out} DEPENDS ${compiled} ${joulery_bpf_script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DOBJECT=${compiled} -DNAME=${name} -DOUTPUT=${out} -P ${joulery_bpf_script})
endfunction()
