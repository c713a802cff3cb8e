// The marks library: the functions of joulery/joulery.h on this process's own ring (watch/mark_ring.h).
// It lives in other people's programs, so it needs libc alone, takes no lock, and where anything at all goes
// wrong it is inactive. Compiled into libjoulery.so and into the Python module.
//
// Invariant: `current` is null (inactive), `unopened` (nobody has looked yet; again so in a forked child), or
// a ring that this process made. Names have the same ids in every ring of a process and its forked children.
#define JOULERY_BUILD
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "joulery/joulery.h"
#include "watch/mark_ring.h"

namespace joulery {
namespace {

struct Ring {
  RingHeader header;
  RingName names[ring_names];
  RingRecord records[ring_records];
};
static_assert(sizeof(Ring) == ring_bytes);

// The rings are shared with another process, so their words are plain and touched through these.
template <class T>
T load(const T& word, int order = __ATOMIC_ACQUIRE) {
  return __atomic_load_n(&word, order);
}
template <class T>
void store(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

alignas(Ring) char unopened_place;  // only its address means something
Ring* const unopened = reinterpret_cast<Ring*>(&unopened_place);
std::atomic<Ring*> current{unopened};
std::atomic<bool> fork_handled{false};

// Dense copies of the names, for the next ring of this process or of a forked child.
enum : unsigned char { cell_empty, cell_writing, cell_ready };
struct NameCell {
  std::atomic<unsigned char> state;
  unsigned char length;
  char text[ring_name_bytes];
};
NameCell cells[ring_names];
std::atomic<std::uint32_t> step_name{0};

// What a thread knows of itself. tid 0: it has not marked yet, or is a forked child's first thread.
struct ThreadPlace {
  std::uint32_t tid;
  RingLane* lane;  // its own; null: it uses the shared lane alone
  RingRecord* records;
};
__attribute__((tls_model("initial-exec"))) thread_local ThreadPlace this_thread{};
pthread_key_t leave_key;  // its destructor runs where a thread that owns a lane ends
std::atomic<bool> may_own_lanes{false};

std::int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// The time-stamp counter serves where the kernel itself counts by it: then it runs evenly and alike on all processors.
RingClock clock_to_use() {
#ifdef __x86_64__
  char name[8] = {};
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  const bool told = file >= 0 && read(file, name, sizeof name - 1) > 0;
  if (file >= 0) close(file);
  if (told && strcmp(name, "tsc\n") == 0) return RingClock::tsc;
#endif
  return RingClock::monotonic_ns;
}

inline std::uint64_t ticks(RingClock clock) {
#ifdef __x86_64__
  if (clock == RingClock::tsc) return __rdtsc();
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

// A thread that ends gives its lane to the next; marks of later destructors go to the shared lane.
void leave_lane(void* lane) {
  this_thread.lane = nullptr;
  store<std::uint32_t>(static_cast<RingLane*>(lane)->owned, 0);
}

// At a thread's first mark: its number, and a lane of its own where one is free.
__attribute__((noinline, cold)) void settle(Ring& ring) {
  const int saved = errno;
  this_thread = {static_cast<std::uint32_t>(syscall(SYS_gettid)), nullptr, nullptr};
  for (std::size_t i = 1; i < ring_lanes && may_own_lanes.load(); ++i) {
    RingLane& lane = ring.header.lanes[i];
    std::uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&lane.owned, &free, 1U, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
    if (pthread_setspecific(leave_key, &lane) != 0) {
      store<std::uint32_t>(lane.owned, 0);
      break;
    }
    this_thread.lane = &lane;
    this_thread.records = ring.records + lane_begin(i);
    break;
  }
  errno = saved;
}

// Moves a word that this thread alone writes, in one instruction, so that a signal handler's marks never take the same
// record. It needs no lock: no other processor writes the word.
inline bool step_own(std::uint64_t& word, std::uint64_t& from) {
#ifdef __x86_64__
  bool moved;
  __asm__ volatile("cmpxchgq %3, %1" : "+a"(from), "+m"(word), "=@ccz"(moved) : "r"(from + 1) : "memory");
  return moved;
#else
  return __atomic_compare_exchange_n(&word, &from, from + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

inline bool step_shared(std::uint64_t& word, std::uint64_t& from) {
  return __atomic_compare_exchange_n(&word, &from, from + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

constexpr std::uint64_t full = ~std::uint64_t{0};

// The sequence number of a free record, or `full`.
template <bool (*step)(std::uint64_t&, std::uint64_t&), std::size_t records>
inline std::uint64_t claim_record(RingLane& lane) {
  std::uint64_t at = load(lane.head, __ATOMIC_RELAXED);
  do {
    if (at - load(lane.tail) >= records) return full;
  } while (!step(lane.head, at));
  return at;
}

// Room for the whole ring, taken now: a page that cannot be had later would kill the program (SIGBUS),
// and so would a file larger than its limit (SIGXFSZ).
bool reserve(int file) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < ring_bytes) return false;
  return posix_fallocate(file, 0, static_cast<off_t>(ring_bytes)) == 0;
}

Ring* map_ring(int file) {
  if (!reserve(file)) return nullptr;
  void* at = mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<Ring*>(at);
}

void publish_name(Ring& ring, std::size_t cell) {
  RingName& slot = ring.names[cell];
  if (load(slot.length) != 0) return;
  memcpy(slot.text, cells[cell].text, cells[cell].length);
  store<std::uint64_t>(slot.length, cells[cell].length);
}

void publish_names(Ring& ring) {
  for (std::size_t i = 0; i < ring_names; ++i)
    if (cells[i].state.load(std::memory_order_seq_cst) == cell_ready) publish_name(ring, i);
}

void describe(Ring& ring) {
  ring.header.layout = ring_layout;
  ring.header.pid = static_cast<std::int32_t>(getpid());
  ring.header.names = ring_names;
  ring.header.records = ring_records;
  ring.header.clock = clock_to_use();
  publish_names(ring);
  store(ring.header.magic, ring_magic);
}

// A new ring in `directory`, or null: then an empty file tells the reader that this process is not heard,
// where even that could be made. `path` holds the ring's path afterwards.
Ring* make_ring(const char* directory, char* path, std::size_t room) {
  const int used = snprintf(path, room, "%s/%d.%llx%s", directory, static_cast<int>(getpid()),
                            static_cast<unsigned long long>(monotonic_ns()), ring_suffix);
  if (used < 0 || static_cast<std::size_t>(used) >= room - 8) return nullptr;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  Ring* ring = map_ring(file);
  if (ring == nullptr) {
    char failed[4096 + 16];
    snprintf(failed, sizeof failed, "%.*s%s", used - static_cast<int>(strlen(ring_suffix)), path, failed_suffix);
    if (ftruncate(file, 0) != 0 || rename(path, failed) != 0) unlink(path);
  }
  close(file);
  return ring;
}

// The child has its parent's mapping: it lets go of it and makes a ring of its own at its next mark.
void after_fork_in_child() {
  Ring* ring = current.load(std::memory_order_relaxed);
  this_thread = {};
  if (may_own_lanes.load()) pthread_setspecific(leave_key, nullptr);  // its lane was its parent's
  if (ring == nullptr || ring == unopened) return;
  munmap(ring, ring_bytes);
  current.store(unopened, std::memory_order_relaxed);
}

Ring* look_for_ring(char* path, std::size_t room) {
  const char* directory = secure_getenv(ring_environment_variable);
  if (directory == nullptr || directory[0] != '/') return nullptr;
  if (!fork_handled.exchange(true)) {
    if (pthread_atfork(nullptr, nullptr, after_fork_in_child) != 0) return nullptr;
    may_own_lanes = pthread_key_create(&leave_key, leave_lane) == 0;
  }
  Ring* ring = make_ring(directory, path, room);
  if (ring != nullptr) describe(*ring);
  return ring;
}

void tell_rank(Ring& ring);

// First use, by any number of threads or by a signal handler in the midst of it: whoever is first wins, nobody waits.
__attribute__((noinline, cold)) Ring* open_ring() {
  const int saved = errno;
  char path[4096];
  Ring* mine = look_for_ring(path, sizeof path);
  Ring* found = unopened;
  if (current.compare_exchange_strong(found, mine, std::memory_order_seq_cst)) {
    found = mine;
    if (mine != nullptr) publish_names(*mine);  // those that came between describe() and now
    if (mine != nullptr) tell_rank(*mine);
  } else if (mine != nullptr) {
    munmap(mine, ring_bytes);
    unlink(path);
  }
  errno = saved;
  return found;
}

inline Ring* ring_now() {
  Ring* ring = current.load(std::memory_order_acquire);
  return __builtin_expect(ring == unopened, 0) ? open_ring() : ring;
}

void count_lost(Ring& ring) { __atomic_fetch_add(&ring.header.lost, 1, __ATOMIC_RELAXED); }

bool named(std::uint32_t id) { return id != 0 && id <= ring_names && cells[id - 1].state.load(std::memory_order_acquire) == cell_ready; }

void put(Ring& ring, std::uint32_t kind, std::uint32_t name, double value) {
  const std::uint64_t now = ticks(ring.header.clock);
  if (__builtin_expect(this_thread.tid == 0, 0)) settle(ring);
  const bool opens = kind == JOULERY_STEP_BEGIN;
  if (opens && !std::isfinite(value)) value = 0;  // the step is real, its size is not said
  if (!named(name) || kind > JOULERY_WORK || !std::isfinite(value)) return count_lost(ring);
  RingRecord* record = nullptr;
  std::uint64_t at = full;
  if (this_thread.lane != nullptr && (at = claim_record<step_own, own_lane_records>(*this_thread.lane)) != full)
    record = this_thread.records + at % own_lane_records;
  else if ((at = claim_record<step_shared, shared_lane_records>(ring.header.lanes[0])) != full)
    record = ring.records + at % shared_lane_records;
  else
    return count_lost(ring);
  record->time = now;
  record->value = value;
  record->tid = this_thread.tid;
  record->name = static_cast<std::uint16_t>(name);
  record->kind = static_cast<std::uint16_t>(kind);
  store(record->commit, at + 1);
}

// At most ring_name_bytes, never cutting a UTF-8 sequence.
std::size_t kept_length(const char* text) {
  const std::size_t length = strnlen(text, ring_name_bytes + 1);
  if (length <= ring_name_bytes) return length;
  std::size_t keep = ring_name_bytes;
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xC0) == 0x80) --keep;
  return keep;
}

std::size_t hash_of(const char* text, std::size_t length) {  // FNV-1a, 64 bits
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

bool claim(NameCell& cell, const char* text, std::size_t length) {
  unsigned char state = cell_empty;
  if (!cell.state.compare_exchange_strong(state, cell_writing)) return false;
  memcpy(cell.text, text, length);
  cell.length = static_cast<unsigned char>(length);
  cell.state.store(cell_ready, std::memory_order_seq_cst);
  return true;
}

// The cell of a name, made where new; ring_names where the table is full. A cell that stays half written (its
// thread was left behind by a fork) is passed by: the same name in two cells does no harm.
std::size_t cell_of(const char* text) {
  const std::size_t length = kept_length(text);
  std::size_t at = hash_of(text, length);
  for (std::size_t tried = 0; tried < ring_names; ++tried, ++at) {
    NameCell& cell = cells[at % ring_names];
    if (cell.state.load(std::memory_order_seq_cst) == cell_empty && claim(cell, text, length)) return at % ring_names;
    if (cell.state.load(std::memory_order_seq_cst) != cell_ready) continue;
    if (cell.length == length && memcmp(cell.text, text, length) == 0) return at % ring_names;
  }
  return ring_names;
}

std::uint32_t name_id(const char* text) {
  if (text == nullptr || text[0] == '\0') return 0;
  const std::size_t cell = cell_of(text);
  if (cell == ring_names) return 0;
  Ring* ring = current.load(std::memory_order_seq_cst);
  if (ring != nullptr && ring != unopened) publish_name(*ring, cell);
  return static_cast<std::uint32_t>(cell + 1);
}

// As launchers of distributed programs number their processes: torchrun and its like, Open MPI, other MPIs, Slurm.
constexpr const char* rank_variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

// The first mark of a process that was given a number: the point "rank".
void tell_rank(Ring& ring) {
  for (const char* variable : rank_variables) {
    const char* text = secure_getenv(variable);
    const std::size_t digits = text == nullptr ? 0 : strspn(text, "0123456789");
    if (digits == 0 || digits > 9 || text[digits] != '\0') continue;
    put(ring, JOULERY_POINT, name_id("rank"), static_cast<double>(atol(text)));
    return;
  }
}

std::uint32_t step_id() {
  std::uint32_t id = step_name.load(std::memory_order_relaxed);
  if (__builtin_expect(id == 0, 0)) step_name.store(id = name_id(JOULERY_STEP_NAME), std::memory_order_relaxed);
  return id;
}

void put_named(std::uint32_t kind, const char* name, double value) {
  if (Ring* ring = ring_now()) put(*ring, kind, name_id(name), value);
}

}  // namespace
}  // namespace joulery

using namespace joulery;

int joulery_abi(void) { return JOULERY_ABI; }

int joulery_active(void) { return ring_now() != nullptr; }

void joulery_step_begin(double samples) {
  if (Ring* ring = ring_now()) put(*ring, JOULERY_STEP_BEGIN, step_id(), samples);
}

void joulery_step_end(void) {
  if (Ring* ring = ring_now()) put(*ring, JOULERY_STEP_END, step_id(), 0);
}

void joulery_mark(const char* name, double value) { put_named(JOULERY_POINT, name, value); }

void joulery_kpi(const char* name, double value) { put_named(JOULERY_KPI, name, value); }

void joulery_work(const char* unit, double count) { put_named(JOULERY_WORK, unit, count); }

uint32_t joulery_name(const char* name) { return name_id(name); }

void joulery_step_begin_named(uint32_t name, double units) { joulery_place(JOULERY_STEP_BEGIN, name, units); }

void joulery_step_end_named(uint32_t name) { joulery_place(JOULERY_STEP_END, name, 0); }

void joulery_place(uint32_t kind, uint32_t name, double value) {
  if (Ring* ring = ring_now()) put(*ring, kind, name, value);
}

uint64_t joulery_lost(void) {
  const Ring* ring = ring_now();
  return ring != nullptr ? load(ring->header.lost) : 0;
}
