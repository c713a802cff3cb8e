// The bytes of a trace as a window that moves on: a file, gzip or not, or bytes in memory. A reader looks at the window,
// takes from its front, and asks for more behind what it has not taken yet; so no file is ever whole in memory.
//
// Invariant: window() is followed by `padding` readable zero bytes, so that a scanner may look ahead in whole words.
// What a gzip file unpacks to is bounded (see the limits): a small file cannot make the reader work for hours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace joulery {

// What a trace may cost its reader. Beyond it the reader says so and stops.
struct ProfileLimits {
  std::size_t memory = std::size_t{4} << 30;      // bytes of events and names
  std::size_t window = std::size_t{64} << 20;     // the longest single event or message part
  std::uint64_t unpacked_ratio = 200;             // of a gzip file, once it unpacks to more than `unpacked_free`
  std::uint64_t unpacked_free = std::uint64_t{1} << 30;
};

class TraceInput {
 public:
  static constexpr std::size_t padding = 64;

  // Errors: those of opening `path`; usage for a folder.
  static Result<TraceInput> open(const std::string& path, const ProfileLimits& limits);
  // `bytes` outlive the input. `name` stands for the path in errors.
  static TraceInput of_bytes(std::string_view bytes, std::string name, const ProfileLimits& limits);

  TraceInput(TraceInput&&) noexcept;
  TraceInput& operator=(TraceInput&&) noexcept;
  ~TraceInput();

  std::string_view window() const { return {buffer_.data() + front_, back_ - front_}; }
  void take(std::size_t bytes) { front_ += bytes; }
  // Puts more bytes behind the window; pointers into it change. False: there are no more. Errors: reading, a damaged gzip
  // stream, one that unpacks beyond the limits, and a window beyond its limit.
  Result<bool> more();
  // Makes the window at least `bytes` long, where the input has them. Errors as more().
  Result<void> want(std::size_t bytes);
  // Takes `bytes`, also of what is not in the window yet. False where the input ends before. Errors as more().
  Result<bool> skip(std::uint64_t bytes);
  // Back to the first byte.
  Result<void> rewind();

  // Of the window's front, in unpacked bytes.
  std::uint64_t offset() const { return unpacked_ - (back_ - front_); }
  const std::string& name() const { return name_; }
  // The bytes of an input that is no file; empty for a file.
  std::string_view in_memory() const { return bytes_; }
  bool packed() const { return inflater_ != nullptr; }
  const ProfileLimits& limits() const { return limits_; }
  // "FILE: byte N", of the window's front + `ahead`.
  std::string place(std::size_t ahead = 0) const;

 private:
  struct Inflater;
  TraceInput(std::string name, const ProfileLimits& limits);
  Result<std::size_t> read_raw(char* to, std::size_t room);
  Result<std::size_t> inflate_into(char* to, std::size_t room);
  Result<void> detect();

  std::string name_;
  ProfileLimits limits_;
  int file_ = -1;
  std::string_view bytes_;             // where the input is in memory
  std::uint64_t raw_ = 0;              // bytes read of the file or of bytes_
  std::unique_ptr<Inflater> inflater_;
  std::vector<char> buffer_;
  std::size_t front_ = 0, back_ = 0;
  std::uint64_t unpacked_ = 0;         // bytes ever put into the buffer
};

}  // namespace joulery
