// A library that a machine may lack, loaded at run time: one program must run on machines that have it and on those that do not.
//
// It stays loaded until the process ends. Some of these libraries count neither initialisations nor shut-downs, and a
// second user in the process (the program that we are part of) must not lose the library because we are done with it.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace joulery {

class SharedLibrary {
 public:
  // The first of these names that can be loaded.
  static SharedLibrary open(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return SharedLibrary(handle);
    return SharedLibrary(nullptr);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  // Sets `function` to the symbol of this name; null, and false, where the library has none.
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = handle_ ? reinterpret_cast<Function*>(::dlsym(handle_, name)) : nullptr;
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace joulery
