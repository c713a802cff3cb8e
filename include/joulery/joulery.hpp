// Marks for C++17 and later: the C functions with scopes that close themselves. Link with -ljoulery.
//
//   for (auto& batch : loader) { joulery::Step step(64); train(batch); }
//   joulery::mark("epoch", 3);  joulery::kpi("accuracy", 0.93);  joulery::work(512, "token");
//
// Every step that begins also ends, whichever way its scope is left.
#ifndef JOULERY_JOULERY_HPP
#define JOULERY_JOULERY_HPP

#include <cstdint>

#include "joulery/joulery.h"

namespace joulery {

// A name looked up once; keep it where it is used often: `static const joulery::Name decode("decode");`
class Name {
 public:
  explicit Name(const char* text) : id_(joulery_name(text)) {}
  std::uint32_t id() const { return id_; }

 private:
  std::uint32_t id_;
};

// One step: from here to the end of the scope. `samples` is the work that it holds, 0 where not known.
class Step {
 public:
  explicit Step(double samples = 0) : name_(0) { joulery_step_begin(samples); }
  explicit Step(const Name& name, double units = 0) : name_(name.id()) {
    joulery_step_begin_named(name_, units);
    named_ = true;
  }
  ~Step() {
    if (named_)
      joulery_step_end_named(name_);
    else
      joulery_step_end();
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

 private:
  std::uint32_t name_;
  bool named_ = false;
};

inline bool active() { return joulery_active() != 0; }
inline std::uint64_t lost() { return joulery_lost(); }

inline void mark(const char* name, double value = 0) { joulery_mark(name, value); }
inline void mark(const Name& name, double value = 0) { joulery_place(JOULERY_POINT, name.id(), value); }
inline void kpi(const char* name, double value) { joulery_kpi(name, value); }
inline void kpi(const Name& name, double value) { joulery_place(JOULERY_KPI, name.id(), value); }
inline void work(double count, const char* unit = "sample") { joulery_work(unit, count); }
inline void work(double count, const Name& unit) { joulery_place(JOULERY_WORK, unit.id(), count); }

}  // namespace joulery

// A step whose name is looked up once per place in the source: JOULERY_STEP("decode", tokens);
#define JOULERY_STEP(text, units)                           \
  static const ::joulery::Name joulery_name_of_step_(text); \
  const ::joulery::Step joulery_step_of_scope_(joulery_name_of_step_, (units))

#endif
