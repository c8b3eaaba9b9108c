#include "linkgain/tables/escaping.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "linkgain/base/text.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

constexpr const char* kMark = "\xEF\xBF\xBD";

TEST(PlainText, HasNothingThatATerminalObeys) {
  EXPECT_EQ(plain_text("loss 0.5\tacc\r\n"), "loss 0.5 acc  ");
  EXPECT_EQ(plain_text("\033[1;31mred\033[0m \033[2J\033]0;title\aend\033]8;;url\033\\link"),
            "red endlink");
  EXPECT_EQ(plain_text("\033Mup \x07\x7f\xc2\x9b"
                       "31m"),
            "up 31m");
  EXPECT_EQ(plain_text("cut \033"), "cut ");
  EXPECT_EQ(plain_text("cut \033["), "cut ");
  EXPECT_EQ(plain_text("cut \033]0;x"), "cut ");
  EXPECT_EQ(plain_text("\xff\xc3(µ"), "\xef\xbf\xbd\xef\xbf\xbd(µ");
}

TEST(Escaping, KeepsUtf8AndMarksWhatIsNone) {
  for (const char* text : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x94\xA5",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
  const std::string mark = kMark;
  EXPECT_EQ(valid_utf8("a\xFFz"), "a" + mark + "z");
  EXPECT_EQ(valid_utf8("\xC3"), mark) << "cut short";
  EXPECT_EQ(valid_utf8("\xC0\x80"), mark + mark) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark) << "beyond U+10FFFF";
}

TEST(Escaping, ForXml) {
  EXPECT_EQ(xml_escaped("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;");
  EXPECT_EQ(xml_escaped("a\x01\n\tb\r"), std::string("a") + kMark + "\n\tb" + kMark);
  EXPECT_EQ(xml_escaped("a\uFFFEb\uFFFFc\uFFFD"),
            std::string("a") + kMark + "b" + kMark + "c" + kMark);
}

TEST(Escaping, ForPrometheus) {
  EXPECT_EQ(prometheus_escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(prometheus_escaped("n\033[31m\u202e\x7f\xff\r"),
            std::string("n\\\\x1b[31m\\\\u202e\\\\x7f") + kMark + "\\\\x0d");
}

TEST(Escaping, ForCsv) {
  EXPECT_EQ(csv_field(std::string_view("plain")), "plain");
  EXPECT_EQ(csv_field(std::optional(std::int64_t{20000000000000001})), "20000000000000001");
  EXPECT_EQ(csv_field(std::optional<int>()), "");
  EXPECT_EQ(csv_field(std::string_view("a,\"b\"\n")), "\"a,\"\"b\"\" \"")
      << "no line begins in a field";
  EXPECT_EQ(csv_field(std::string_view("od/e\033[31m\u202e\t\u009b\x7f\xff\r")),
            std::string("od/e\\x1b[31m\\u202e\\x09\\x9b\\x7f") + kMark + " ")
      << "as visible() has it";
  for (const char* formula : {"=1+1", "+cmd|x", "-1-1", "@SUM(A1)", "::error::x"}) {
    EXPECT_EQ(csv_field(std::string_view(formula)), std::string("'") + formula);
  }
  EXPECT_EQ(csv_field(std::string_view("=a,b")), "\"'=a,b\"");
  for (const char* formula : {"\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)", " =1+1",
                              "\u00a0=1+1", "\u3000\uff1d1+1", "'=1+1"}) {
    EXPECT_EQ(csv_field(std::string_view(formula)), std::string("'") + formula)
        << "some spreadsheets take full-width signs, and drop blanks and quotes";
  }
  EXPECT_EQ(csv_field(std::string_view("\"=1+1")), "\"'\"\"=1+1\"");
  EXPECT_EQ(csv_field(std::string_view("\t=1+1")), "\\x09=1+1") << "a tab is no tab any more";
  EXPECT_EQ(csv_field(std::string_view("\r=1+1")), "' =1+1");
  for (const char* text : {"'quoted'", " -1.5", "a=b", "\u3000"}) {
    EXPECT_EQ(csv_field(std::string_view(text)), text);
  }
  for (const char* number : {"-1.5", "+2", "-1e-5"}) {
    EXPECT_EQ(csv_field(std::string_view(number)), number);
  }
}

TEST(ShellQuoted, IsOneWord) {
  EXPECT_EQ(shell_quoted("--sizes=8:1G:x4"), "--sizes=8:1G:x4");
  EXPECT_EQ(shell_quoted("my results"), "'my results'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_quoted("::error::x"), "'::error::x'") << "it may begin a line";
}

TEST(ShownWord, StaysOnItsLineAndIsStillTheSameToBash) {
  for (const char* text : {"--sizes=8:1G:x4", "my results", "it's", "", "$HOME", "\\n µ"}) {
    EXPECT_EQ(shown_word(text), shell_quoted(text));
  }
  EXPECT_EQ(shown_word("x\n::error::it's\ty\\"), "$'x\\n::error::it\\'s\\x09y\\\\'");
  EXPECT_EQ(shown_word("µ\u2028\r\u202e"), "$'µ\\xe2\\x80\\xa8\\x0d\\xe2\\x80\\xae'");
  EXPECT_EQ(shown_word("\xff"
                       "f"),
            "$'\\xfff'")
      << "a byte has two digits";
  EXPECT_EQ(shown_command({"a", "", "b c", "d\ne"}), "a '' 'b c' $'d\\ne'");
}

/// Lists every byte, alone and among others, and what shells take for something else.
std::vector<std::string> odd_words() {
  std::vector<std::string> words{"",
                                 "a b",
                                 "it's",
                                 "$HOME `id` $(id)",
                                 "\\",
                                 "a\\",
                                 "~",
                                 "#x",
                                 "-n",
                                 "*?[a]{b,c}",
                                 "a\nb",
                                 "\n",
                                 "a\n\n",
                                 "\n'\n",
                                 "!x",
                                 "µ\u2028",
                                 "\033[31m",
                                 "\033"
                                 "7",
                                 "'\033'",
                                 "::error::x"};
  for (int byte = 1; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    words.push_back(one);
    words.push_back("a" + one + "7");
    words.push_back("'" + one + "\n" + one + one);
  }
  return words;
}

TEST(PastedWord, IsTheSameToEveryShell) {
  for (const char* shell : {"sh", "bash"}) {
    for (const char* before : {"printf '%s\\0' ", "V="}) {
      std::string script;
      std::string expected;
      for (const std::string& word : odd_words()) {
        const std::string pasted = pasted_word(word);
        EXPECT_EQ(visible_lines(pasted), pasted) << "it acts on no terminal";
        script += before + pasted + (before[0] == 'V' ? "; printf '%s\\0' \"$V\"\n" : "\n");
        expected += word + '\0';
      }
      const Outcome said = run_program(
          {.arguments = {"/bin/" + std::string(shell), "-c", script}, .environment = {}});
      EXPECT_EQ(said.output, expected) << shell << ": " << said.error;
    }
  }
  EXPECT_EQ(pasted_command({"sh", "-c", "id\ntrue"}), "sh -c 'id\ntrue'");
  EXPECT_EQ(pasted_word("\033[0m"), "\"$(printf '\\033')\"'[0m'");
}

}  // namespace
}  // namespace linkgain::test
