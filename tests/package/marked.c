/* A C program against the installed header and library: compiled by scripts/package. */
#include <joulery/joulery.h>

int main(void) {
  joulery_step_begin(64);
  joulery_step_end();
  joulery_mark("epoch", 1);
  return joulery_abi() >= JOULERY_ABI ? 0 : 1;
}
