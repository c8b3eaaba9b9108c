# Writes OUTPUT, the source of bench/core/commit.hpp, with the commit of SOURCE, or FALLBACK where SOURCE is no git checkout; only
# when it changes, so that nothing is compiled anew otherwise.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=7 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(commit "${FALLBACK}")
endif()
if(commit)
  set(commit "+${commit}")
endif()
set(text "#include \"commit.hpp\"\n\nnamespace linkgain {\n\nstd::string_view commit_suffix() { return \"${commit}\"; }\n\n}  // namespace linkgain\n")
set(present "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} present)
endif()
if(NOT present STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
