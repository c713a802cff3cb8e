// The tables of a recording, and the two numbers by which one is known. docs/formats/recording.md explains each table.
#pragma once

#include <cstdint>

namespace joulery {

inline constexpr std::int64_t recording_application_id = 0x4A4F554C;  // "JOUL", at byte 68 of the file
inline constexpr std::int64_t recording_version = 1;                  // PRAGMA user_version
inline constexpr std::int64_t job_recording_version = 2;              // of several hosts: metadata "hosts"

extern const char* const recording_schema;

}  // namespace joulery
