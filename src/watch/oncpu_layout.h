/* What the eBPF program bpf/oncpu.bpf.c and its reader watch/bpf_account share: the layout of its maps. Plain C, so that both
   compile it; every member lies where its type wants it, so that no padding differs. */
#ifndef JOULERY_WATCH_ONCPU_LAYOUT_H
#define JOULERY_WATCH_ONCPU_LAYOUT_H

enum oncpu_hierarchy { oncpu_by_unified = 0, oncpu_by_cpuacct = 1, oncpu_by_cpu = 2 }; /* which hierarchy says the cgroup */

struct oncpu_settings {      /* fixed before the program is loaded */
  unsigned long long opened; /* ns since boot: whoever began later is ours from its beginning */
  unsigned int hierarchy;    /* an oncpu_hierarchy */
  unsigned int zero;
};

struct oncpu_key {           /* a process in a cgroup: one that moves has a row for each */
  unsigned long long start;  /* of the group leader, ns since boot: with the pid it identifies a process */
  unsigned long long cgroup; /* id, the inode of its folder */
  unsigned int pid;          /* of the thread group, as the first pid namespace has it */
  unsigned int zero;
};

struct oncpu_value {
  unsigned long long ns; /* on-CPU time of finished and settled slices, since the program runs */
  unsigned int user;     /* real uid */
  int parent;
  unsigned int ended; /* 1: its last thread is on its way out */
  unsigned int zero;
  char name[16];
};

struct oncpu_cpu {
  unsigned long long since;   /* CPU time of the running thread that is billed already, in all its life */
  unsigned long long lost;    /* ns for which the map had no room */
  unsigned long long running; /* thread id, 0: idle */
  unsigned long long seen;    /* when that was found, by the monotonic clock in ns; 0: never */
  unsigned long long missed;  /* how often another thread than `running` left the CPU: the kernel had not told of a switch */
};

enum { oncpu_path_size = 512 }; /* of a cgroup's path, with its end; a longer one is cut off */

#endif
