"""Tests of scripts/lib/comments.py, run as scripts/lint runs it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"
sys.path.insert(0, str(SCRIPTS))
import comments  # pylint: disable=wrong-import-position


class Comments(unittest.TestCase):
    def passes(self, text):
        self.assertEqual(list(comments.complaints("source.cpp", text)), [], text)

    def fails(self, text, complaint="does not begin with a verb"):
        found = list(comments.complaints("source.cpp", text))
        self.assertEqual(len(found), 1, text)
        self.assertIn(complaint, found[0])

    def test_a_comment_on_a_function_begins_with_a_verb(self):
        for comment in ("Returns the bytes.", "Leaves no column out when the output is not a terminal.", "Spins.",
                        "Waits: others may be slow.", "Names the files.", "Notes that a job began."):
            self.passes(f"/// {comment}\nint size();\n")
        for comment in ("Of what is no terminal: tables leave nothing out.", "The bytes.", "What is sent.", "Once.",
                        "Whether it is.", '"GPU0".', "`name` is the job's.", "Files of a folder.", "Names of files.",
                        "Names, sorted.", "Return the bytes.", "returns the bytes.", "Its size.", "Less time."):
            self.fails(f"/// {comment}\nint size();\n", ":1: a comment")

    def test_every_form_of_a_function_counts(self):
        for function in ("int f();", "void g(int a,\n       int b) {\n}", "explicit Pipe(int end) : end_(end) {}", "~Pipe() override;",
                         "template <typename T, int kSize>\n__global__ void __launch_bounds__(kSize) k(T* to);",
                         "bool operator==(const Pair&) const = default;", "Out& operator<<(Out& to, int value);",
                         "[[nodiscard]] auto h() -> int;", "virtual std::optional<int> do_it() = 0;",
                         "const std::vector<std::pair<int, int>>& all() const { return all_; }", "operator bool() const;"):
            self.fails(f"/// The first.\n{function}\n")
            self.passes(f"/// Does it.\n{function}\n")

    def test_types_variables_and_statements_are_free(self):
        for other in ("class Pipe {", "struct Pair { int f(); };", "enum class Kind { one };", "using Work = void (*)(int);",
                      "inline constexpr int kSize = round_up(3);", "std::function<void(int)> on_end;", "int size_ = 0;",
                      "const std::map<int, int> kNames{{1, f(2)}};", "namespace linkgain {", "#define F(x) x"):
            self.passes(f"/// The first.\n{other}\n")
        self.passes("void f() {\n  // The first.\n  g(1);\n}\n")
        self.passes("/// The file's.\n\nint f();\n")
        self.passes("int f();  // the first\n")
        self.passes("int size;  ///< the first\nint f();\n")

    def test_two_slashes_count_outside_of_functions(self):
        self.fails("// The first.\nint f();\n")

    def test_nothing_begins_with_of(self):
        for other in ("class Pipe {};", "int size = 0;", "int f();"):
            self.fails(f"/// Of a pipe.\n{other}\n", 'source.cpp:1: a comment begins with "Of": Of a pipe.')
        self.fails("void f() {\n  // Of a pipe.\n  g();\n}\n", "source.cpp:2:")
        self.passes("/// Returns the first\n/// Of a name that goes on.\nint f();\n")

    def test_every_file_given_is_looked_at(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("good.cpp", "/// Returns a pipe.\nint f();\n"), ("bad.cpp", "/// Of a pipe.\nint f();\n")):
                pathlib.Path(folder, name).write_text(text)
            for names, complaint in ((["good.cpp"], ""),
                                     (["good.cpp", "bad.cpp"], 'bad.cpp:1: a comment begins with "Of": Of a pipe.\n')):
                done = subprocess.run([sys.executable, SCRIPTS / "comments.py", *names], cwd=folder, capture_output=True,
                                      text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1 if complaint else 0, complaint))


if __name__ == "__main__":
    unittest.main()
