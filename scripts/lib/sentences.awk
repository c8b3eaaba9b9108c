# FILE:LINE TEXT for every sentence that a test looks for: a literal in a matcher of texts, with four words of running
# text or more. Values, codes, names of options and rows of tables ("|") are none.
function words_in(text, tokens, count, i, words) {
  gsub(/\\[nt]/, " ", text)
  count = split(text, tokens, " ")
  for (i = 1; i <= count; ++i) if (tokens[i] ~ /^[('"`]*[A-Za-z][A-Za-z]+[)'"`,.:;?!]*$/) ++words
  return words + 0
}
FNR == 1 { matcher = 0 }
{
  rest = $0
  while (rest != "") {
    if (!matcher) {
      if (!match(rest, /(HasSubstr|StartsWith|EndsWith|ContainsRegex|MatchesRegex)\(/)) break
      rest = substr(rest, RSTART + RLENGTH)
      matcher = FNR
      text = ""
    }
    sub(/^[ \t]+/, "", rest)
    if (rest == "") break
    if (match(rest, /^"([^"\\]|\\.)*"/)) {
      text = text substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      continue
    }
    if (text !~ /\|/ && words_in(text) >= 4) print FILENAME ":" matcher, text
    matcher = 0
  }
}
