#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/environment_layer.h"
#include "config/known_keys.h"
#include "config/secret.h"
#include "config/toml_layer.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A folder that goes with the test.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "joulery-config-XXXXXX") { ::mkdtemp(path_.data()); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string error_of(std::string_view toml) {
  Settings settings;
  const auto added = add_toml(toml, "c.toml", settings);
  return added ? "accepted" : added.error().line();
}

TEST(TomlLayer, TakesEveryTypeWithItsLine) {
  Settings settings;
  const auto added = add_toml(
      "[carbon]\nplace = \"Z\xc3\xbcrich\"\npue = 1\n[meters.rack-pdu]\nkind = \"snmp\"\ntimeout = \"250ms\"\ninsecure = true\n"
      "labels = [\"a=1\", \"b=2\"]\nport = 161\nscale = 0.1\n",
      "c.toml", settings);
  ASSERT_TRUE(added) << added.error().line();
  EXPECT_EQ(settings.text("carbon.place")->value(), "Z\xc3\xbcrich");
  EXPECT_EQ(settings.find("carbon.place")->origin.describe(), "c.toml:2");
  EXPECT_EQ(settings.number("carbon.pue")->value(), 1.0);
  EXPECT_EQ(settings.duration("meters.rack-pdu.timeout")->value(), milliseconds(250));
  EXPECT_TRUE(settings.flag("meters.rack-pdu.insecure")->value());
  EXPECT_THAT(settings.texts("meters.rack-pdu.labels")->value(), ElementsAre("a=1", "b=2"));
  EXPECT_EQ(settings.whole("meters.rack-pdu.port", 1, 65535)->value(), 161);
  EXPECT_EQ(settings.number("meters.rack-pdu.scale")->value(), 0.1);
}

TEST(TomlLayer, AnUnknownKeyIsRefusedWithNearNameAndPlace) {
  EXPECT_EQ(error_of("[carbon]\nplaec = \"SE\""),
            "unknown key 'carbon.plaec' in the configuration: c.toml:2 (did you mean 'carbon.place'?)");
  EXPECT_EQ(error_of("[crabon]\nplace = \"SE\""), "unknown key 'crabon' in the configuration: c.toml:1 (did you mean 'carbon'?)");
  EXPECT_EQ(error_of("[meters.bmc]\n\ntimeuot = \"5s\""),
            "unknown key 'meters.bmc.timeuot' in the configuration: c.toml:3 (did you mean 'meters.bmc.timeout'?)");
  EXPECT_THAT(error_of("meters.\"b c\".kind = \"snmp\""), HasSubstr("a name holds letters, digits, '-' and '_'"));
}

TEST(TomlLayer, AWrongTypeIsRefusedWithWhatIsWanted) {
  EXPECT_EQ(error_of("[carbon]\nplace = 3"), "'carbon.place' must be a text: c.toml:2");
  EXPECT_EQ(error_of("carbon = 3"), "'carbon' must be a section, [carbon]: c.toml:1");
  EXPECT_EQ(error_of("[[meters]]\nkind = \"snmp\""), "'meters' must be a section, [meters]: c.toml:1");
  EXPECT_EQ(error_of("[carbon]\npue = nan"), "'carbon.pue' must be a finite number: c.toml:2");
  EXPECT_EQ(error_of("[carbon]\npue = 2020-01-01"), "'carbon.pue' must be a number: c.toml:2");
  EXPECT_EQ(error_of("meters.a.labels = [1]"), "'meters.a.labels' must be a list of texts: c.toml:1");
  EXPECT_EQ(error_of("meters.a.timeout = 5"), "'meters.a.timeout' must be a time with its unit, such as \"5s\": c.toml:1");
  EXPECT_THAT(error_of("meters.a.kind = \"redfsh\""), HasSubstr("did you mean 'redfish'?"));
  EXPECT_THAT(error_of("[carbon\n"), HasSubstr("cannot read the configuration"));
  EXPECT_THAT(error_of("carbon.place\xd1\xb8 = \"SE\""), HasSubstr("beyond ASCII outside quotes: c.toml:1"));
}

TEST(TomlLayer, ASecretInTheFileIsRefusedWithTheRemedyAndNeverRepeated) {
  for (const char* text :
       {"[meters.bmc]\npassword = \"hunter2\"", "[meters.bmc]\ntoken = \"hunter2\"", "meters.bmc.url = \"https://root:hunter2@bmc/\"",
        "meters.p.url = \"http://p/cm?user=admin&password=hunter2\""}) {
    EXPECT_THAT(error_of(text), Not(HasSubstr("hunter2")));
    EXPECT_THAT(error_of(text), Not(HasSubstr("accepted")));
  }
  EXPECT_THAT(error_of("[meters.bmc]\npassword = \"hunter2\""),
              HasSubstr("chmod 600 PATH) and set password_file = \"PATH\", or password_env"));
  EXPECT_EQ(error_of("meters.p.url = \"http://p/cm?password={password}\""), "accepted");
  EXPECT_EQ(error_of("meters.p.url = \"http://p/cm?to=a@b\""), "accepted");
}

TEST(LocalToml, IsRefusedWhereAnybodyMayWriteIt) {
  const Folder folder;
  Settings settings;
  EXPECT_TRUE(add_local_toml_file(folder.write("a.toml", "carbon.place = \"FR\"", 0664), settings));
  const auto open = add_local_toml_file(folder.write("b.toml", "carbon.place = \"DE\"", 0666), settings);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::permission);
  EXPECT_THAT(open.error().hint, HasSubstr("chmod o-w"));
  EXPECT_EQ(settings.text("carbon.place")->value(), "FR");
}

TEST(LocalToml, OfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: only root can give a file away";
  const Folder folder;
  const std::string path = folder.write("joulery.toml", "carbon.place = \"DE\"");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  ::unsetenv("SUDO_UID");
  Settings settings;
  const auto added = add_local_toml_file(path, settings);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().line(), HasSubstr("belongs to somebody else"));
  ::setenv("SUDO_UID", "12345", 1);
  EXPECT_TRUE(add_local_toml_file(path, settings));
  ::unsetenv("SUDO_UID");
}

TEST(Environment, FollowsTheRule) {
  Settings files, layer;
  files.set("meters.Rack_PDU.kind", {std::string("snmp"), {"c.toml", 1}});
  const std::pair<std::string, std::string> variables[] = {{"JOULERY_CARBON_PLACE", "FR"},
                                                           {"JOULERY_CARBON_G_PER_KWH", "412.5 lb/MWh"},
                                                           {"JOULERY_CARBON_PUE", "1.2"},
                                                           {"JOULERY_METERS_RACK_PDU_HOST", "pdu.lan"},
                                                           {"JOULERY_METERS_NODE_BMC_MAX_AGE", "5s"},
                                                           {"JOULERY_METERS_NODE_BMC_INSECURE", "true"},
                                                           {"JOULERY_METERS_NODE_BMC_PASSWORD_ENV", "BMC_PW"},
                                                           {"JOULERY_BUILD", "/tmp"},
                                                           {"PATH", "/bin"}};
  const auto added = add_environment(variables, files, layer);
  ASSERT_TRUE(added) << added.error().line();
  EXPECT_EQ(layer.text("carbon.place")->value(), "FR");
  EXPECT_EQ(layer.find("carbon.place")->origin.describe(), "JOULERY_CARBON_PLACE");
  EXPECT_EQ(layer.text("carbon.g_per_kwh")->value(), "412.5 lb/MWh");
  EXPECT_EQ(layer.number("carbon.pue")->value(), 1.2);
  EXPECT_EQ(layer.text("meters.Rack_PDU.host")->value(), "pdu.lan");
  EXPECT_EQ(layer.duration("meters.node-bmc.max_age")->value(), seconds(5));
  EXPECT_TRUE(layer.flag("meters.node-bmc.insecure")->value());
  EXPECT_EQ(layer.text("meters.node-bmc.password_env")->value(), "BMC_PW");
  EXPECT_EQ(layer.all().size(), 7u);
}

TEST(Environment, AMisspeltOneIsRefusedWithoutItsValue) {
  const auto error = [](const char* name) {
    Settings files, layer;
    const std::pair<std::string, std::string> variables[] = {{name, "hunter2"}};
    const auto added = add_environment(variables, files, layer);
    return added ? std::string("accepted") : added.error().line();
  };
  EXPECT_EQ(error("JOULERY_CARBON_PLAEC"),
            "unknown key 'carbon.plaec' in the configuration: JOULERY_CARBON_PLAEC (did you mean 'carbon.place'?)");
  EXPECT_THAT(error("JOULERY_METERS_BMC_PASSWORD"), HasSubstr("is a secret"));
  EXPECT_THAT(error("JOULERY_METERS_BMC_PASSWORD"), Not(HasSubstr("hunter2")));
  EXPECT_EQ(error("JOULERY_CARBON_PUE"), "'carbon.pue' must be a number: JOULERY_CARBON_PUE");
}

TEST(Load, LaterLayersWinKeyByKey) {
  const Folder folder;
  ConfigSources sources;
  sources.system_file = folder.write("system.toml", "[carbon]\nplace = \"SE\"\npue = 1.1\n[cost]\nper_kwh = 0.1\ncurrency = \"SEK\"\n");
  sources.user_file = folder.write("user.toml", "[carbon]\npue = 1.2\n[cost]\nper_kwh = 0.2\n");
  sources.local_file = folder.write("joulery.toml", "[cost]\nper_kwh = 0.3\n");
  sources.environment = {{"JOULERY_COST_CURRENCY", "EUR"}};
  const auto settings = load_settings(sources, {{"--place", "carbon.place", "FR"}});
  ASSERT_TRUE(settings) << settings.error().line();
  EXPECT_EQ(settings->find("carbon.place")->origin.describe(), "--place");
  EXPECT_EQ(settings->find("carbon.pue")->origin.describe(), sources.user_file + ":2");
  EXPECT_EQ(settings->find("cost.per_kwh")->origin.describe(), sources.local_file + ":2");
  EXPECT_EQ(settings->find("cost.currency")->origin.describe(), "JOULERY_COST_CURRENCY");
  EXPECT_EQ(settings->number("cost.per_kwh")->value(), 0.3);
}

TEST(Load, APlaceTakesTheFigureOfEarlierLayersAway) {
  const Folder folder;
  ConfigSources sources;
  sources.system_file = folder.write("system.toml", "carbon.g_per_kwh = 12\nmeters.a.password_file = \"x\"\n");
  sources.user_file = folder.path() + "/none.toml";
  sources.local_file = folder.path() + "/none.toml";
  sources.environment = {{"JOULERY_CARBON_PLACE", "FR"}, {"JOULERY_METERS_A_PASSWORD_ENV", "X"}};
  const auto settings = load_settings(sources, {});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->find("carbon.g_per_kwh"), nullptr);
  EXPECT_EQ(settings->find("meters.a.password_file"), nullptr);
  const auto both = load_settings(sources, {{"--carbon-intensity", "carbon.g_per_kwh", "13"}});
  EXPECT_EQ(both->number("carbon.g_per_kwh")->value(), 13.0);
}

TEST(Load, AFolderInAFilesPlaceIsAnError) {
  ConfigSources sources;
  sources.system_file = "/tmp";
  EXPECT_FALSE(load_settings(sources, {}));
}

TEST(Load, ASetFlagNamesKeyAndValue) {
  const auto flag = parse_set_flag("meters.a.url=http://x/?a=b");
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->key, "meters.a.url");
  EXPECT_EQ(flag->value, "http://x/?a=b");
  EXPECT_FALSE(parse_set_flag("carbon.place"));
}

Settings with_secret_file(const std::string& path) {
  Settings settings;
  settings.set("meters.bmc.password_file", {path, {"/etc/joulery/joulery.toml", 4}});
  return settings;
}

TEST(ReadSecret, TakesTheFirstLineOfAFileThatOnlyItsOwnerReads) {
  const Folder folder;
  const auto found = read_secret(with_secret_file(folder.write("pw", "hunter2\nrest\n")), "meters.bmc", "password");
  ASSERT_TRUE(found && *found);
  EXPECT_STREQ((*found)->secret.reveal(), "hunter2");
  EXPECT_EQ((*found)->secret.size(), 7u);
  EXPECT_EQ((*found)->warning, "");
  EXPECT_FALSE(*read_secret(Settings(), "meters.bmc", "password"));
}

TEST(ReadSecret, ARelativePathStartsWhereTheSettingsLie) {
  const Folder folder;
  folder.write("pw", "hunter2");
  Settings settings;
  settings.set("meters.bmc.password_file", {std::string("pw"), {folder.path() + "/joulery.toml", 4}});
  EXPECT_TRUE(read_secret(settings, "meters.bmc", "password"));
}

TEST(ReadSecret, OpenFilesAreRefusedAndTheGroupIsToldOf) {
  const Folder folder;
  for (const mode_t mode : {0604, 0602, 0620, 0666}) {
    const auto open = read_secret(with_secret_file(folder.write("pw", "hunter2", mode)), "meters.bmc", "password");
    ASSERT_FALSE(open) << mode;
    EXPECT_EQ(open.error().code, ErrorCode::permission);
    EXPECT_THAT(open.error().hint, HasSubstr("chmod 600"));
  }
  const auto group = read_secret(with_secret_file(folder.write("pw", "hunter2", 0640)), "meters.bmc", "password");
  ASSERT_TRUE(group && *group);
  EXPECT_THAT((*group)->warning, HasSubstr("the group may read"));
}

TEST(ReadSecret, EmptyMissingAndDoubleOnesAreErrors) {
  const Folder folder;
  EXPECT_FALSE(read_secret(with_secret_file(folder.write("pw", "\n")), "meters.bmc", "password"));
  EXPECT_FALSE(read_secret(with_secret_file(folder.path() + "/none"), "meters.bmc", "password"));
  EXPECT_FALSE(read_secret(with_secret_file(folder.write("long", std::string(5000, 'x'))), "meters.bmc", "password"));
  Settings both = with_secret_file(folder.write("pw", "hunter2"));
  both.set("meters.bmc.password_env", {std::string("X"), {"/etc/joulery/joulery.toml", 5}});
  EXPECT_FALSE(read_secret(both, "meters.bmc", "password"));
}

TEST(ReadSecret, FromTheEnvironment) {
  Settings settings;
  settings.set("meters.bmc.password_env", {std::string("JOULERY_TEST_SECRET"), {"c.toml", 1}});
  EXPECT_FALSE(read_secret(settings, "meters.bmc", "password"));
  ::setenv("JOULERY_TEST_SECRET", "hunter2", 1);
  const auto found = read_secret(settings, "meters.bmc", "password");
  ::unsetenv("JOULERY_TEST_SECRET");
  ASSERT_TRUE(found && *found);
  EXPECT_STREQ((*found)->secret.reveal(), "hunter2");
}

// Another file must not lead a secret elsewhere; the user's own word at this call may.
TEST(ReadSecret, GoesOnlyWhereTheFileThatNamesItSays) {
  const Folder folder;
  Settings settings = with_secret_file(folder.write("pw", "hunter2"));
  settings.set("meters.bmc.url", {std::string("https://bmc/"), {"/etc/joulery/joulery.toml", 3}});
  EXPECT_TRUE(read_secret(settings, "meters.bmc", "password"));
  settings.set("meters.bmc.url", {std::string("https://elsewhere/"), {"joulery.toml", 1}});
  const auto led_away = read_secret(settings, "meters.bmc", "password");
  ASSERT_FALSE(led_away);
  EXPECT_THAT(led_away.error().line(), HasSubstr("joulery.toml:1"));
  settings.set("meters.bmc.url", {std::string("https://given/"), {"--set", 0}});
  EXPECT_TRUE(read_secret(settings, "meters.bmc", "password"));
}

TEST(Secret, IsOverwrittenWhenItGoesAndCannotBeCopied) {
  static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
  Secret secret("hunter2");
  const Secret moved = std::move(secret);
  EXPECT_STREQ(moved.reveal(), "hunter2");
  EXPECT_EQ(secret.size(), 0u);  // NOLINT(bugprone-use-after-move): that it is empty is what is asked
}

// The manual page tells every key, with the table's own words.
TEST(KnownKeys, AreAllInTheManualPage) {
  std::ifstream file(JOULERY_SOURCE_DIR "/docs/man/joulery-config.1");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const KnownKey& known : known_keys()) {
    EXPECT_LE(known.meaning.size(), 110u) << known.pattern;
    EXPECT_THAT(page, HasSubstr(".It Cm " + std::string(known.pattern) + "\n" + std::string(known.meaning)));
    if (known.fallback.empty()) continue;
    EXPECT_THAT(page, HasSubstr("default " + std::string(known.fallback))) << known.pattern;
  }
}

TEST(KnownKeys, EachSecretMayComeFromAFileOrAVariable) {
  for (const KnownKey& known : known_keys()) {
    std::string key(known.pattern);
    if (!key.ends_with("_env")) continue;
    if (const auto star = key.find('*'); star != std::string::npos) key[star] = 'a';
    EXPECT_TRUE(find_known_key(key.substr(0, key.size() - 4) + "_file")) << key;
  }
}

}  // namespace
}  // namespace joulery
