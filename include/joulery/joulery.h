/* Marks: what a program says of itself while Joulery measures it, and what it has burnt so far.
 *
 * A program that runs under `joulery run` finds a directory of rings in its environment and places
 * marks there: when a step begins and ends, how much work was done, how accurate the model has become.
 * Outside of `joulery run` each of these functions costs a branch and does nothing.
 *
 * They never block, never fail, never print, keep errno, and may be called from any thread and after a fork.
 * A mark that finds its ring full is dropped and counted; Joulery reports the count.
 *
 * Link with -ljoulery. The functions and numbers below only grow: what is here keeps its meaning.
 * Call joulery_active() once before a program locks itself into a sandbox: the first use opens a file.
 */
#ifndef JOULERY_JOULERY_H
#define JOULERY_JOULERY_H

#include <stdint.h>

#if defined(JOULERY_BUILD) && !defined(JOULERY_HIDDEN)
#define JOULERY_API __attribute__((visibility("default")))
#else
#define JOULERY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one when functions are added. */
#define JOULERY_ABI 2

/* What a mark says. */
#define JOULERY_STEP_BEGIN 0 /* value: units of work in the step, 0 where not said */
#define JOULERY_STEP_END 1   /* closes the innermost open step of this name and thread; value 0 */
#define JOULERY_POINT 2      /* a named moment: ("epoch", 3) */
#define JOULERY_KPI 3        /* a figure that tells success: ("accuracy", 0.93) */
#define JOULERY_WORK 4       /* value units of the kind `name` were done by now: ("token", 512) */

/* The name of the program's main steps. */
#define JOULERY_STEP_NAME "step"

/* The JOULERY_ABI that the library was built with. */
JOULERY_API int joulery_abi(void);

/* 1 where marks are taken (the process runs under `joulery run`), else 0. */
JOULERY_API int joulery_active(void);

/* One step of the main loop; `samples` is how many units of work it holds, 0 where not known. */
JOULERY_API void joulery_step_begin(double samples);
JOULERY_API void joulery_step_end(void);

/* A named moment, a success figure, and work done since the last call. `name` is UTF-8; 119 bytes of it are kept.
 * A value that is not finite is dropped and counted as lost. */
JOULERY_API void joulery_mark(const char* name, double value);
JOULERY_API void joulery_kpi(const char* name, double value);
JOULERY_API void joulery_work(const char* unit, double count);

/* The fast path: a number for a name, good for the life of the process and in its forked children.
 * 0 where the name is NULL or empty, or where 1024 names are taken: marks with it count as lost. */
JOULERY_API uint32_t joulery_name(const char* name);

/* Steps with a name of their own ("evaluate", "decode"); they nest, also within steps of the same name. */
JOULERY_API void joulery_step_begin_named(uint32_t name, double units);
JOULERY_API void joulery_step_end_named(uint32_t name);

/* Any mark: `kind` is one of the numbers above, `name` a number from joulery_name(). */
JOULERY_API void joulery_place(uint32_t kind, uint32_t name, double value);

/* What was burnt so far, as `joulery run` tells the program that it runs: the counted components of the whole machine, summed up
 * from `begin_ns` until `until_ns`, which lies a fraction of a second back (a second at the first call: it is told more often
 * once somebody asks). Differences of two such sums are the energy in between. */
#define JOULERY_ENERGY_KNOWN 1   /* flags: microjoules, low and high mean something; without it nothing is known, which is not 0 */
#define JOULERY_ENERGY_PARTIAL 2 /* flags: something that burns is not in the sum: see `missing` */
#define JOULERY_MISSING_BYTES 448

typedef struct joulery_energy {
  int64_t begin_ns, until_ns;      /* of CLOCK_MONOTONIC */
  int64_t microjoules, low, high;  /* low and high: the 90 % interval around it */
  double watts;                    /* mean power of the last fraction of a second; negative where it is not known */
  uint64_t holes;                  /* grows where a meter that is counted gave nothing for a while: the sum lacks that */
  uint32_t quality;                /* 0 measured, 1 integrated, 2 derived, 3 estimated, 4 missing */
  uint32_t flags;
  char missing[JOULERY_MISSING_BYTES]; /* "node/dram: why; node/gpu/0: why", cut where it is long, ends with a 0 byte */
} joulery_energy;

/* 1 where `into` was filled; 0 where nobody tells (no `joulery run`), and `into` may hold anything. Some microseconds. Since ABI 2. */
JOULERY_API int joulery_energy_so_far(joulery_energy* into);

/* How many marks of this process were dropped so far; 0 where marks are not taken. */
JOULERY_API uint64_t joulery_lost(void);

#ifdef __cplusplus
}
#endif

#endif
