#include "ledger/attribution/accelerator_use.h"

#include <algorithm>

namespace joulery {
namespace {

using Users = std::vector<const DeviceProcess*>;

bool any(const Users& users, auto test) {
  return std::ranges::any_of(users, [&](const DeviceProcess* user) { return test(*user); });
}

UseMethod method_of(const Users& users) {
  if (users.size() == 1) return UseMethod::alone;
  if (any(users, [](const DeviceProcess& user) { return user.busy.value_or(0) > 0; })) return UseMethod::busy;
  if (any(users, [](const DeviceProcess& user) { return user.memory.value_or(0) > 0; })) return UseMethod::memory;
  return UseMethod::alike;
}

double weight_of(const DeviceProcess& user, UseMethod method) {
  switch (method) {
    case UseMethod::busy: return user.busy.value_or(0);
    case UseMethod::memory: return static_cast<double>(user.memory.value_or(0));
    default: return 1;
  }
}

// Adds the users of one device or slice, so that their weights sum to `whole`.
void add(const Users& users, double whole, AcceleratorUse& use) {
  const UseMethod method = method_of(users);
  double sum = 0;
  for (const DeviceProcess* user : users) sum += weight_of(*user, method);
  for (const DeviceProcess* user : users)
    if (sum > 0) use.weights[user->pid] += whole * weight_of(*user, method) / sum;
  use.method = std::max(use.method, method);
}

}  // namespace

AcceleratorUse accelerator_use(const Component& accelerator, std::span<const DeviceProcess> users,
                               const std::map<std::string, double>& busy) {
  std::map<std::string, Users> slices;
  for (const DeviceProcess& user : users)
    if (user.component == accelerator || user.component.inside(accelerator)) slices[user.component.path()].push_back(&user);
  AcceleratorUse use;
  const bool told = slices.size() > 1 && std::ranges::all_of(slices, [&](const auto& slice) { return busy.contains(slice.first); });
  for (const auto& [slice, of] : slices) {
    double all = static_cast<double>(of.size());  // where nothing tells slices apart, each process counts alike
    if (told) all = busy.at(slice);
    add(of, all, use);
  }
  return use;
}

}  // namespace joulery
