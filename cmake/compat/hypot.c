/* glibc 2.35 gave hypot() a second version (it no longer sets errno by the old rules); the first one is in every glibc, so
 * packages ask for that. Hidden: it serves the program or module that it is linked into and nobody else. */
#if defined(__x86_64__)
__asm__(".symver hypot_of_any_glibc, hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver hypot_of_any_glibc, hypot@GLIBC_2.17");
#else
#error "which version of glibc first had hypot() on this machine?"
#endif

double hypot_of_any_glibc(double x, double y);

__attribute__((visibility("hidden"))) double hypot(double x, double y) { return hypot_of_any_glibc(x, y); }
