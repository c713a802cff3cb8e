// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Who is on the CPUs: at every switch of the scheduler the slice that ends is added to the process that had the CPU.
// Nobody is missed, however short-lived. A slice that is under way is settled by the reader, which has `settle` run on each
// busy CPU before it reads: there it cannot meet a switch, which has interrupts off, so each nanosecond is billed once.
//
// Made to run on any kernel from 5.11: the few members of its structures that are read are declared here by name, and found
// where that kernel has them (CO-RE). Licensed also under the GPL, which the kernel asks of programs that look into it.
#include "watch/oncpu_layout.h"

typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define UINT(name, value) int(*name)[value]
#define TYPE(name, type) __typeof__(type)* name

enum { map_hash = 1, map_percpu_array = 6, map_lru_hash = 9, any = 0, if_absent = 1 };

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void*)5;
static long (*const bpf_probe_read_kernel)(void* to, u32 size, const void* from) = (void*)113;
static long (*const bpf_probe_read_kernel_str)(void* to, u32 size, const void* from) = (void*)115;

// ---- the kernel's structures ------------------------------------------------------------------------------------
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
  u64 id;
};
struct cgroup_root {
  int hierarchy_id;
};
struct cgroup {
  struct kernfs_node* kn;
  struct cgroup_root* root;
};
struct cgroup_subsys_state {
  struct cgroup* cgroup;
};
struct css_set {
  struct cgroup_subsys_state* subsys[1];
  struct cgroup* dfl_cgrp;
};
typedef struct {
  u32 val;
} kuid_t;
struct cred {
  kuid_t uid;
};
typedef struct {
  int counter;
} atomic_t;
struct signal_struct {
  atomic_t live;
};
struct sched_entity {
  u64 sum_exec_runtime;
};
struct task_struct {
  int pid, tgid;
  struct sched_entity se;
  u64 start_boottime;
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct css_set* cgroups;
  const struct cred* cred;
  struct signal_struct* signal;
  char comm[16];
};
#pragma clang attribute pop

enum cgroup_subsys_id { cpu_cgrp_id = 1, cpuacct_cgrp_id = 2 };  // the true values are the running kernel's

static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;

// ---- maps -------------------------------------------------------------------------------------------------------
struct {
  UINT(type, map_hash);
  UINT(max_entries, 65536);
  TYPE(key, struct oncpu_key);
  TYPE(value, struct oncpu_value);
} processes SEC(".maps");

struct {
  UINT(type, map_percpu_array);
  UINT(max_entries, 1);
  TYPE(key, u32);
  TYPE(value, struct oncpu_cpu);
} cpus SEC(".maps");

struct {
  UINT(type, map_lru_hash);
  UINT(max_entries, 1024);
  TYPE(key, u64);
  TYPE(value, char[oncpu_path_size]);
} cgroups SEC(".maps");

struct {
  UINT(type, map_percpu_array);
  UINT(max_entries, 1);
  TYPE(key, u32);
  TYPE(value, char[oncpu_path_size]);
} scratch SEC(".maps");

// What is billed of a thread, in all its life. Where there is no room, the thread used longest ago makes place.
struct billed {
  u64 start, used;  // when it began, ns since boot: ids are used again
};
struct {
  UINT(type, map_lru_hash);
  UINT(max_entries, 16384);
  TYPE(key, u32);
  TYPE(value, struct billed);
} threads SEC(".maps");

const volatile struct oncpu_settings settings = {};  // the branches not taken are dropped when it is loaded

char LICENSE[] SEC("license") = "GPL";

// ---- the program ------------------------------------------------------------------------------------------------
INLINE struct cgroup* cgroup_of(struct task_struct* task) {
  struct css_set* set = task->cgroups;
  if (settings.hierarchy == oncpu_by_unified) return set->dfl_cgrp;
  struct cgroup_subsys_state** states = set->subsys;
  if (settings.hierarchy == oncpu_by_cpuacct) {
    if (!__builtin_preserve_enum_value(*(enum cgroup_subsys_id*)cpuacct_cgrp_id, 0)) return 0;
    return states[__builtin_preserve_enum_value(*(enum cgroup_subsys_id*)cpuacct_cgrp_id, 1)]->cgroup;
  }
  if (!__builtin_preserve_enum_value(*(enum cgroup_subsys_id*)cpu_cgrp_id, 0)) return 0;
  return states[__builtin_preserve_enum_value(*(enum cgroup_subsys_id*)cpu_cgrp_id, 1)]->cgroup;
}

INLINE struct oncpu_key key_of(struct task_struct* task, struct task_struct* leader) {
  struct cgroup* cgroup = cgroup_of(task);
  struct oncpu_key key = {.start = leader->start_boottime, .cgroup = cgroup ? cgroup->kn->id : 0, .pid = (u32)task->tgid, .zero = 0};
  return key;
}

INLINE int is_ending(struct task_struct* task) { return task->signal->live.counter == 0; }

// The row of a process that has none yet. Null where the map is full.
INLINE struct oncpu_value* new_row(const struct oncpu_key* key, struct task_struct* task, struct task_struct* leader) {
  struct oncpu_value row = {};
  row.user = task->cred->uid.val;
  row.parent = leader->real_parent->tgid;
  row.ended = is_ending(task);
  bpf_probe_read_kernel(row.name, sizeof row.name, &leader->comm);
  bpf_map_update_elem(&processes, key, &row, if_absent);  // another CPU may have been first: its row is as good
  return bpf_map_lookup_elem(&processes, key);
}

INLINE void bill(struct oncpu_cpu* cpu, struct task_struct* task, u64 ns) {
  struct task_struct* leader = task->group_leader;
  const struct oncpu_key key = key_of(task, leader);
  struct oncpu_value* row = 0;
  if (leader->pid == task->tgid) {  // else the leader was freed while this last thread was still on its way out
    row = bpf_map_lookup_elem(&processes, &key);
    if (!row) row = new_row(&key, task, leader);
  }
  if (!row) {
    cpu->lost += ns;
    return;
  }
  row->user = task->cred->uid.val;
  __sync_fetch_and_add(&row->ns, ns);
}

// The slice of a thread of which nothing is noted: it is new to us, or was forgotten.
INLINE u64 first_slice(struct oncpu_cpu* cpu, struct task_struct* task, u64 used, u64 now) {
  if (cpu->running == (u32)task->pid) return used > cpu->since ? used - cpu->since : 0;
  if (!cpu->seen || task->start_boottime < settings.opened) return 0;  // how much of it is ours cannot be known
  return used < now - cpu->seen ? used : now - cpu->seen;
}

// On some virtual machines the switches away from one task (one CPU's idle task, say) reach no tracer: whoever has the CPU after it was
// not seen coming. So the bill is kept with the thread, not only with the CPU.
INLINE u64 slice_of(struct oncpu_cpu* cpu, struct task_struct* task, u64 used, u64 now) {
  const u32 id = (u32)task->pid;
  if (cpu->seen && cpu->running != id) cpu->missed += 1;
  if (!id) return 0;
  struct billed* billed = bpf_map_lookup_elem(&threads, &id);
  if (billed && billed->start == task->start_boottime) {
    const u64 slice = used > billed->used ? used - billed->used : 0;
    billed->used = used;
    return slice;
  }
  const struct billed noted = {.start = task->start_boottime, .used = used};
  bpf_map_update_elem(&threads, &id, &noted, any);
  return first_slice(cpu, task, used, now);
}

// `task` has had this CPU up to now, `next` has it from now on. What counts is the kernel's own account of the task, which leaves out
// what a hypervisor took away. It is read once: another CPU may bring it up to date at any moment.
INLINE void change(struct task_struct* task, struct task_struct* next) {
  const u32 zero = 0;
  struct oncpu_cpu* cpu = bpf_map_lookup_elem(&cpus, &zero);
  if (!cpu) return;
  const u64 used = task->se.sum_exec_runtime, now = bpf_ktime_get_ns();
  const u64 slice = slice_of(cpu, task, used, now);
  if (slice) bill(cpu, task, slice);
  cpu->since = next == task ? used : next->se.sum_exec_runtime;
  cpu->running = (u32)next->pid;
  cpu->seen = now;
}

// (bool preempt, struct task_struct* previous, struct task_struct* next)
SEC("tp_btf/sched_switch") int on_switch(u64* arguments) {
  change((void*)arguments[1], (void*)arguments[2]);
  return 0;
}

// Never attached: the reader has it run on a CPU (BPF_PROG_TEST_RUN), whose task it interrupts.
SEC("raw_tp/settle") int settle(__attribute__((unused)) void* nothing) {
  struct task_struct* task = bpf_get_current_task_btf();
  change(task, task);
  return 0;
}

// (struct task_struct* task, const char* name): exec, and a process that names itself.
SEC("tp_btf/task_rename") int on_rename(u64* arguments) {
  struct task_struct* task = (void*)arguments[0];
  if (task->pid != task->tgid) return 0;
  const struct oncpu_key key = key_of(task, task);
  struct oncpu_value* row = bpf_map_lookup_elem(&processes, &key);
  if (!row) return 0;
  bpf_probe_read_kernel_str(row->name, sizeof row->name, (const void*)arguments[1]);
  row->parent = task->real_parent->tgid;
  return 0;
}

// (struct task_struct* task, ...): of each thread; it goes on running for a moment.
SEC("tp_btf/sched_process_exit") int on_exit(u64* arguments) {
  struct task_struct* task = (void*)arguments[0];
  if (!is_ending(task)) return 0;
  const struct oncpu_key key = key_of(task, task->group_leader);
  struct oncpu_value* row = bpf_map_lookup_elem(&processes, &key);
  if (row) row->ended = 1;
  return 0;
}

// (struct cgroup* cgroup, const char* path): a container may be gone, with its cgroup, before the reader looks; its name is kept.
// Ids are those of one hierarchy, so others are left out.
SEC("tp_btf/cgroup_mkdir") int on_mkdir(u64* arguments) {
  struct cgroup* made = (void*)arguments[0];
  struct cgroup* ours = cgroup_of(bpf_get_current_task_btf());
  if (!ours || ours->root != made->root) return 0;
  const u32 zero = 0;
  char* path = bpf_map_lookup_elem(&scratch, &zero);
  if (!path) return 0;
  const u64 id = made->kn->id;
  if (bpf_probe_read_kernel_str(path, oncpu_path_size, (const void*)arguments[1]) > 0) bpf_map_update_elem(&cgroups, &id, path, any);
  return 0;
}
