// The tables of a profile on a narrow terminal.
#include "publish/profile/profile_text.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(ProfileText, KernelsAreToldByWhatTheyDifferIn) {
  Profile profile;
  ProfileAccount account;
  account.length = seconds(1);
  for (const char* name :
       {"void at::native::(anonymous namespace)::softmax<float, at::Half>(int)", "void cub::Sort<a::b>()", "plain::name(int)"}) {
    KernelLine line;
    line.name = name, line.figures.device = milliseconds(100);
    account.kernels.push_back(line);
  }
  const std::string text = profile_text({"trace", "", profile, account, {}}, 0, {.colour = false, .unicode = false, .width = 80});
  EXPECT_NE(text.find("\n    softmax<float, at::Half"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    Sort<a::b>()"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    plain::name(int)"), std::string::npos) << text;
}

}  // namespace
}  // namespace joulery
