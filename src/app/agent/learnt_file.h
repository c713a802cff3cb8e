// What an agent has learnt of static power, kept for its next start.
#pragma once

#include <map>
#include <string>

namespace joulery {

// By component. Empty where there is no such file, or it is damaged: it is then learnt anew.
std::map<std::string, std::string> read_learnt(const std::string& path);
// Replaces the file at once. Where it cannot be written the next start learns anew.
void write_learnt(const std::string& path, const std::map<std::string, std::string>& learnt);

}  // namespace joulery
