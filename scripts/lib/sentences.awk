# FILE:LINE TEXT for every sentence that a test expects: a literal in a matcher of texts or an equation, with four words
# of running text or more. Values, codes, names of options and rows of tables ("|") are none, nor are arguments of what
# is called there.
function words_in(text, tokens, count, i, words) {
  gsub(/\\[nt]/, " ", text)
  count = split(text, tokens, " ")
  for (i = 1; i <= count; ++i) if (tokens[i] ~ /^[('"`]*[A-Za-z][A-Za-z]+[)'"`,.:;?!]*$/) ++words
  return words + 0
}
# What was read of one literal, or of several that follow each other.
function end_text() {
  if (text !~ /\|/ && words_in(text) >= 4) print FILENAME ":" line, text
  text = ""
}
FNR == 1 { depth = 0; text = "" }
{
  rest = $0
  while (rest != "") {
    if (depth == 0) {
      if (!match(rest, /(HasSubstr|StartsWith|EndsWith|ContainsRegex|MatchesRegex|_EQ|_STREQ|ElementsAre|Contains|Eq)\(/)) {
        break
      }
      rest = substr(rest, RSTART + RLENGTH)
      depth = 1
    } else if (match(rest, /^[ \t]+/)) {
      rest = substr(rest, RLENGTH + 1)
    } else if (rest ~ /^\/\//) {
      break
    } else if (match(rest, /^"([^"\\]|\\.)*"/)) {
      if (text == "") line = FNR
      if (depth == 1) text = text substr(rest, 2, RLENGTH - 2)
      rest = substr(rest, RLENGTH + 1)
    } else {
      end_text()
      if (match(rest, /^'([^'\\]|\\.)'/)) {
        rest = substr(rest, RLENGTH + 1)
        continue
      }
      if (rest ~ /^\(/) ++depth
      if (rest ~ /^\)/) --depth
      rest = substr(rest, 2)
    }
  }
}
