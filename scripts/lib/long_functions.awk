# FILE NAME LINES for every function of more than `most` lines that begins in the first column, as clang-format
# leaves it: a head up to "{" at a line's end, a body up to "}" in the first column.
FNR == 1 { inside = 0; head = "" }
inside && /^}/ {
  if (FNR - start + 1 > most) print FILENAME, name, FNR - start + 1
  inside = 0
  next
}
inside { next }
/^[^ \/#}]/ { if (head == "") start = FNR }
/^[^ \/#}]/ || (/^ / && head != "") { head = head $0 " " }
/;[ ]*$/ || /^$/ { head = "" }
/\{[ ]*$/ && head != "" {
  if (head ~ /\(/ && head !~ /^(template *<[^>]*> *)?(namespace|struct|class|enum|union|extern)/) {
    inside = 1
    name = head
    gsub(/__launch_bounds__\([^)]*\) */, "", name)
    sub(/\(.*/, "", name)
    sub(/.*[ \*&]/, "", name)
  }
  head = ""
}
