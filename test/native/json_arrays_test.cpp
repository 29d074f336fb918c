// Arrays of numbers in JSON text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "native/json/arrays.h"

namespace ltn::json {
namespace {

struct Read {
  bool is_read = false;
  std::vector<std::string> texts;  // of the arrays, by the order in which they are found
  std::vector<std::vector<double>> numbers;
};

// What is found under "a" and "b".
Read read(const std::string& text) {
  std::vector<double> room(text.size() / 2 + 1);
  const NumberArrays arrays = find_number_arrays(text, {"a", "b"}, room.data(), room.size());
  Read read;
  read.is_read = arrays.is_read;
  for (const NumberArray& array : arrays.found) {
    read.texts.push_back(text.substr(array.begin, array.end - array.begin));
    const auto first = room.begin() + static_cast<std::ptrdiff_t>(array.first);
    read.numbers.emplace_back(first, first + static_cast<std::ptrdiff_t>(array.count));
  }
  return read;
}

TEST(JsonArrays, ReadsMembersOfTheObject) {
  const Read found = read(R"( { "x" : {"a":[9]}, "b":[1, -2.5e3 ,0.1],"y":"\"]}", "a" : [] } )");
  ASSERT_TRUE(found.is_read);
  EXPECT_EQ(found.texts, (std::vector<std::string>{"[1, -2.5e3 ,0.1]", "[]"}));
  EXPECT_EQ(found.numbers, (std::vector<std::vector<double>>{{1, -2500, 0.1}, {}}));
}

TEST(JsonArrays, ReadsEachFormOfANumber) {
  const Read found =
      read(R"({"a":[0,-0, 7,10,0.5,-0.25,1e3,1E+2,25e-1,17976931348623157e292,5e-324,0.1234567890123456789]})");
  ASSERT_EQ(found.numbers.size(), 1U);
  EXPECT_EQ(found.numbers[0], (std::vector<double>{0, -0.0, 7, 10, 0.5, -0.25, 1000, 100, 2.5, 17976931348623157e292,
                                                   5e-324, 0.1234567890123456789}));
  EXPECT_TRUE(std::signbit(found.numbers[0][1]));
}

TEST(JsonArrays, ReadsDecimalsOfEachLengthAsTheCLibraryDoes) {
  std::mt19937_64 random(7);
  const auto digit = [&random] { return static_cast<char>('0' + random() % 10); };
  for (size_t whole = 0; whole <= 20; ++whole) {
    for (size_t decimals = 0; decimals <= 24; ++decimals) {
      std::string text = random() % 2 == 0 ? "-" : "";
      text += whole == 0 ? '0' : static_cast<char>('1' + random() % 9);
      for (size_t i = 1; i < whole; ++i) text += digit();
      if (decimals > 0) text += '.';
      for (size_t i = 0; i < decimals; ++i) text += digit();
      const Read found = read(R"({"a":[)" + text + "," + text + "]}");
      ASSERT_EQ(found.numbers.size(), 1U) << text;
      EXPECT_EQ(found.numbers[0], std::vector<double>(2, std::strtod(text.c_str(), nullptr))) << text;
    }
  }
  // Around 2^53, the last integer that is read exactly, and characters beside the digits.
  EXPECT_EQ(read(R"({"a":[9007199254740992,9007199254740993,9007199254740995,0.9007199254740993]})").numbers[0],
            (std::vector<double>{9007199254740992, 9007199254740992, 9007199254740996, 0.9007199254740993}));
  for (const char* number : {"1234567:", "1234567/", "1234567\xb0", "0.1234567:", "0.5:,0.25", "0.5.5,0.25", "/.5,0.25",
                             ":.5,0.25", "0.,0.25", "00.5,0.25", "0.123456:,0.25"}) {
    EXPECT_TRUE(read(std::string(R"({"a":[)") + number + "]}").numbers.empty()) << number;
  }
}

TEST(JsonArrays, RoundsFloatsFromDoubles) {
  // The double nearest to 1.0000001788… is midway between two floats and is rounded up; the decimal is nearer to the
  // lower.
  const std::string text = R"({"a":[0,0,0,0,0.1,7,-2.5,1.00000017881393432617187499,1e39,1e-46,0.99999]})";
  float room[16] = {};
  const NumberArrays arrays = find_number_arrays(text, {"a"}, room, std::size(room));
  ASSERT_EQ(arrays.found.size(), 1U);
  const std::vector<double> numbers{0, 0, 0, 0, 0.1, 7, -2.5, 1.00000017881393432617187499, 1e39, 1e-46, 0.99999};
  ASSERT_EQ(arrays.found[0].count, numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(room[i], static_cast<float>(numbers[i])) << i;
}

TEST(JsonArrays, ReadsRunsOfZeros) {
  for (size_t zeros = 0; zeros <= 13; ++zeros) {
    for (const char* last : {"0", "0.5", "10", "-0", " 0"}) {
      std::string text;
      for (size_t i = 0; i < zeros; ++i) text += "0,";
      std::vector<double> numbers(zeros + 1);
      numbers[zeros] = std::strtod(last, nullptr);
      EXPECT_EQ(read(R"({"a":[)" + text + last + "]}").numbers, (std::vector<std::vector<double>>{numbers}))
          << text << last;
    }
  }
  double room[5] = {};
  const NumberArrays full = find_number_arrays(R"({"a":[0,0,0,0,0]})", {"a"}, room, 5);
  EXPECT_EQ(full.found.size(), 1U);
  const NumberArrays narrow = find_number_arrays(R"({"a":[0,0,0,0,0]})", {"a"}, room, 4);
  EXPECT_TRUE(narrow.found.empty());
}

TEST(JsonArrays, SaysWhetherThereAreOtherMembers) {
  const auto has_others = [](const std::string& text, const std::string& name) {
    double room[8] = {};
    const NumberArrays arrays = find_number_arrays(text, {name}, room, std::size(room));
    return arrays.is_read ? std::optional(arrays.has_others) : std::nullopt;
  };
  EXPECT_EQ(has_others(R"({"a":[1]})", "a"), false);
  EXPECT_EQ(has_others(R"({"a":[1],"b":2})", "a"), true);
  EXPECT_EQ(has_others(R"({"a":[[1]]})", "a"), true);
  EXPECT_EQ(has_others("{\"a\n\":[1]}", "a\n"), true);  // invalid, which the whole parser says
  EXPECT_EQ(has_others(R"({"a":[1],})", "a"), std::nullopt);
}

TEST(JsonArrays, LeavesOtherValuesToAWholeParser) {
  for (const char* value : {"5", "\"[1]\"", "[[1]]", "[1,null]", "[1,]", "[,1]", "[01]", "[+1]", "[.5]", "[1.]", "[1e]",
                            "[1 2]", "[1e999]", "[-]", "[NaN]", "[0x1]", "{\"a\":[1]}"}) {
    const Read found = read(std::string("{\"a\":") + value + "}");
    EXPECT_TRUE(found.is_read) << value;
    EXPECT_TRUE(found.texts.empty()) << value;
  }
}

TEST(JsonArrays, LeavesOtherTextToAWholeParser) {
  for (const char* text :
       {"", "[1]", "5", "{", "{\"a\":[1]", "{\"a\":[1]}x", "{\"a\":[1],}", "{\"a\" [1]}", "{a:[1]}",
        "{\"a\":[1],\"a\":[2]}", "{\"\\u0061\":[1]}", "{\"a\":[1],\"x\":\"}", "{\"x\":[1}", "{\"x\":\"\\"}) {
    EXPECT_FALSE(read(text).is_read) << text;
  }
  EXPECT_TRUE(read("{}").is_read);
}

TEST(JsonArrays, WritesNoMoreThanFits) {
  std::vector<double> room{0, 0, 42};
  EXPECT_TRUE(find_number_arrays(R"({"a":[1,2,3]})", {"a"}, room.data(), 2).found.empty());
  EXPECT_EQ(room[2], 42);
}

}  // namespace
}  // namespace ltn::json
