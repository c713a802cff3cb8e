// What one count of a RAPL register is worth, by processor. MSR_RAPL_POWER_UNIT (0x606) tells it in its energy status unit
// (ESU, bits 12:8): 2^-ESU J. On some server processors the DRAM counter ignores it and counts in 2^-16 J (15.3 µJ);
// reading those with the unit from the MSR gives four times the energy. The kernel knows this since Linux 3.18 and 4.x for
// the later models; a zone that contradicts it is told by the doctor. Sapphire and Emerald Rapids count the platform (psys) in
// whole joules, and the small Atoms say their unit as microjoules times a power of two.
#pragma once

#include <optional>
#include <string_view>

namespace joulery {

// 2^-esu J; 0 <= esu <= 31.
double rapl_energy_unit(unsigned esu);

// Joules per count of a package, its cores and its graphics. Source: drivers/powercap/intel_rapl_common.c of Linux, whose
// Atoms (Silvermont, Airmont and their mobile kin) count 2^esu µJ.
double rapl_package_unit(std::string_view vendor, int family, int model, unsigned esu);

// Joules per count of the platform: 1 J on Sapphire and Emerald Rapids (same source).
double rapl_psys_unit(std::string_view vendor, int family, int model, unsigned esu);

// Joules per count of the DRAM counter of a processor, as /proc/cpuinfo names it (vendor_id, cpu family, model).
// Source: drivers/powercap/intel_rapl and arch/x86/events/rapl.c of Linux (Haswell-EP, Broadwell-EP, Skylake-SP,
// Ice Lake-SP, Xeon Phi); Intel document 330784 for Haswell-EP.
double rapl_dram_unit(std::string_view vendor, int family, int model, unsigned esu);

// The true unit over the one that a zone claims (its range is 2^32 - 1 counts) where the two differ by more than rounding
// can explain; nothing where they agree or the processor has no fixed unit.
std::optional<double> rapl_dram_unit_error(std::string_view vendor, int family, int model, double range_joules);
std::optional<double> rapl_psys_unit_error(std::string_view vendor, int family, int model, double range_joules);

}  // namespace joulery
