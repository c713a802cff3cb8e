#include "factors/places.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace joulery {
namespace {

double grams_of(const char* place) {
  const auto match = find_place(place);
  return match ? to_grams_per_kilowatt_hour(match->place->intensity) : -1;
}

std::string code_of(const char* place) {
  const auto match = find_place(place);
  return match ? std::string(match->place->code) : match.error().line();
}

TEST(Places, FindsACountryByEitherCodeAndByName) {
  for (const char* text : {"SE", "SWE", "Sweden", "sweden", "swe", " Sweden "}) EXPECT_EQ(code_of(text), "SE") << text;
  EXPECT_DOUBLE_EQ(grams_of("SE"), 40.695);  // Our World in Data, 2023
  EXPECT_EQ(code_of("UK"), "GB");
  EXPECT_EQ(code_of("Czech Republic"), "CZ");
  EXPECT_EQ(code_of("Côte d'Ivoire"), "CI");
  EXPECT_EQ(code_of("Réunion"), "RE");
}

TEST(Places, CountriesThatOthersForgetOrMistake) {
  EXPECT_DOUBLE_EQ(grams_of("JOR"), 540.924);
  EXPECT_DOUBLE_EQ(grams_of("ALB"), 24.286);
  EXPECT_EQ(code_of("SWE"), "SE");
  EXPECT_EQ(code_of("CHE"), "CH");
  const auto swi = find_place("SWI");  // no ISO code: refused, and never read as Sweden
  ASSERT_FALSE(swi);
  EXPECT_NE(swi.error().hint.find("Switzerland (CH)"), std::string::npos) << swi.error().hint;
}

TEST(Places, Case28ARegionOfACountryWithoutRegionsIsItsAverageWithANote) {
  for (const char* text : {"SWE/stockholm county", "Sweden, stockholm county", "se / stockholm county"}) {
    const auto match = find_place(text);
    ASSERT_TRUE(match) << text;
    EXPECT_EQ(match->place->code, "SE");
    EXPECT_EQ(match->note, "no figure for 'stockholm county': the average of Sweden");
  }
  EXPECT_EQ(find_place("SE-AB")->note, "no figure for 'AB': the average of Sweden");
}

TEST(Places, Case28AnUnknownPlaceIsRefusedWithNearNames) {
  const auto match = find_place("ZZZ");
  ASSERT_FALSE(match);
  EXPECT_EQ(match.error().code, ErrorCode::usage);
  EXPECT_EQ(match.error().what, "unknown place 'ZZZ'");
  EXPECT_TRUE(match.error().hint.starts_with("did you mean ")) << match.error().hint;
  EXPECT_TRUE(find_place("qqqqqqqqqqqq").error().hint.starts_with("write a country"));
  EXPECT_NE(find_place("Swedn").error().hint.find("Sweden (SE)"), std::string::npos);
  EXPECT_NE(find_place("eu-wset-1").error().hint.find("aws:eu-west-1"), std::string::npos);
}

TEST(Places, RegionsOfACountryThatHasThem) {
  for (const char* text : {"US-CA", "us-ca", "US/California", "USA, california", "California"}) EXPECT_EQ(code_of(text), "US-CA") << text;
  EXPECT_DOUBLE_EQ(grams_of("US-CA"), 216.43);  // Green Algorithms, 2020
  EXPECT_EQ(code_of("CA"), "CA");               // Canada, not California
  EXPECT_EQ(code_of("Canada/Québec"), "CA-QC");
  EXPECT_EQ(code_of("Georgia"), "GE");
  EXPECT_EQ(code_of("US/Georgia"), "US-GA");
  const auto typo = find_place("US/Califronia");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().line(), "unknown region of United States 'Califronia' (did you mean California?)");
}

TEST(Places, CloudRegionsWithAndWithoutTheirProvider) {
  EXPECT_EQ(code_of("aws:eu-west-1"), "aws:eu-west-1");
  EXPECT_EQ(code_of("eu-west-1"), "aws:eu-west-1");
  EXPECT_EQ(code_of("europe-west1"), "gcp:europe-west1");
  EXPECT_EQ(code_of("us-east-1"), "aws:us-east-1");
  EXPECT_EQ(code_of("us-east1"), "gcp:us-east1");
  EXPECT_EQ(code_of("westeurope"), "azure:westeurope");
  EXPECT_EQ(code_of("West Europe"), "azure:westeurope");
  EXPECT_DOUBLE_EQ(grams_of("gcp:europe-north1"), 46);        // Google, 2023
  EXPECT_DOUBLE_EQ(grams_of("aws:eu-west-1"), grams_of("IE"));
  EXPECT_DOUBLE_EQ(grams_of("gcp:me-central1"), 575);         // misspelt in the source
  EXPECT_DOUBLE_EQ(grams_of("azure:germanywestcentral"), grams_of("DE"));  // a source says 402 t/kWh here
}

TEST(Places, NonsenseIsRefusedInOneLine) {
  for (const std::string text : {"", " ", "/", "--", ",", "US/", ":", "aws:", "\xff\xfe", "SE/"}) {
    const auto match = find_place(text);
    EXPECT_FALSE(match) << text;
    EXPECT_TRUE(match || match.error().code == ErrorCode::usage) << text;
  }
  EXPECT_FALSE(find_place(std::string(100'000, 'x')));
}

TEST(PlaceTable, EveryRowIsSane) {
  std::set<std::string_view> codes, sources;
  for (const FactorSource& source : all_factor_sources()) sources.insert(source.id);
  for (const Place& place : all_places()) {
    EXPECT_TRUE(codes.insert(place.code).second) << place.code;
    EXPECT_GT(to_grams_per_kilowatt_hour(place.intensity), 0) << place.code;
    EXPECT_LT(to_grams_per_kilowatt_hour(place.intensity), 1500) << place.code;
    EXPECT_GE(place.year, 2009) << place.code;
    EXPECT_LE(place.year, 2026) << place.code;
    EXPECT_TRUE(sources.contains(place.source)) << place.code;
    EXPECT_FALSE(place.name.empty()) << place.code;
    EXPECT_EQ(place.alpha3.size(), place.kind == PlaceKind::country ? 3U : 0U) << place.code;
    EXPECT_EQ(place.parent.empty(), place.kind == PlaceKind::country || place.kind == PlaceKind::world) << place.code;
    EXPECT_TRUE(place.parent.empty() || codes.contains(place.parent)) << place.code;
    if (place.pue != 0) {
      EXPECT_GE(place.pue, 1.0) << place.code;
      EXPECT_LE(place.pue, 2.0) << place.code;
      EXPECT_TRUE(sources.contains(place.pue_source)) << place.code;
    }
  }
  EXPECT_GE(codes.size(), 400U);
}

TEST(PlaceTable, EveryCodeAndNameFindsItsRow) {
  for (const Place& place : all_places()) {
    const auto by_code = find_place(place.code);
    ASSERT_TRUE(by_code) << place.code;
    EXPECT_EQ(by_code->place, &place) << place.code;
    EXPECT_TRUE(place.alpha3.empty() || find_place(place.alpha3)->place == &place) << place.alpha3;
    const auto by_name = find_place(place.name);
    ASSERT_TRUE(by_name) << place.name;
    EXPECT_TRUE(by_name->place == &place || place.code == "US-GA") << place.name;  // Georgia is a country first
  }
}

// One typing mistake in a name of some length brings the place back among the near ones.
RC_GTEST_PROP(Places, OneMistakeInANameIsForgiven, ()) {
  const auto places = all_places();
  const Place& place = places[*rc::gen::inRange<std::size_t>(0, places.size())];
  std::string name(place.name);
  RC_PRE(name.size() >= 6);
  const auto at = *rc::gen::inRange<std::size_t>(0, name.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0: name.erase(at, 1); break;
    case 1: name.insert(at, 1, *rc::gen::inRange('a', 'z')); break;
    default: name[at] = *rc::gen::inRange('a', 'z'); break;
  }
  const auto match = find_place(name);
  if (match && match->note.empty()) return;  // still, or by now, the name of a place
  const auto near = nearest_places(name, 8);
  const std::string wanted = std::string(place.name) + " (" + std::string(place.code) + ")";
  RC_ASSERT(std::ranges::find(near, wanted) != near.end());
}

}  // namespace
}  // namespace joulery
