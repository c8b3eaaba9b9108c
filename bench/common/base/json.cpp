#include "linkgain/base/json.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain::json {
namespace {

std::string rows_of(const Out& value) {
  std::string text = value.is_array() ? "[" : "{";
  const char* separator = "\n ";
  for (const auto& [name, row] : value.items()) {
    text += separator;
    if (value.is_object()) text += fmt::format("\"{}\": ", name);
    text += text_of(row);
    separator = ",\n ";
  }
  return text + (value.is_array() ? "\n]" : "\n}");
}

std::string text_of_member(const Out& value, Layout layout) {
  switch (layout) {
    case Layout::line:
      break;
    case Layout::indented:
      return text_of(value, 1);
    case Layout::rows:
      return rows_of(value);
  }
  return text_of(value);
}

constexpr std::size_t kMostTextBytes = std::size_t{64} << 10;

/// Makes a document of what the library's parser finds, as the library does itself, which however
/// takes the last of two members of one name.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(const DocumentLimits& most) : most_(most) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(In::number_integer_t value) { return add(value); }
  bool number_unsigned(In::number_unsigned_t value) { return add(value); }
  bool number_float(In::number_float_t value, const std::string&) { return add(value); }
  bool string(const std::string& value) {
    count_part();
    return add(visible_lines(std::string_view(value).substr(0, kMostTextBytes)));
  }
  bool binary(In::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return open(In::object()); }
  bool start_array(std::size_t) { return open(In::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(const std::string& name) {
    count_part();
    if (visible(name) != name) {
      throw UsageError(fmt::format("the name of member '{}' is no text", visible(name)));
    }
    const auto [member, added] = open_.back()->get_ref<In::object_t&>().emplace(name, nullptr);
    if (!added) throw UsageError(fmt::format("an object has member '{}' twice", name));
    member_ = &member->second;
    return true;
  }

  template <typename Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& error) {
    throw error;
  }

  In take() { return std::move(document_); }

 private:
  bool add(In value) {
    place(std::move(value));
    return true;
  }

  bool open(In value) {
    count_part();
    open_.push_back(&place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  void count_part() {
    if (++parts_ <= most_.parts) return;
    throw UsageError(
        fmt::format("it has more than {} members, objects, lists and texts", most_.parts));
  }

  In& place(In value) {
    if (++values_ > most_.values) {
      throw UsageError(fmt::format("it has more than {} values", most_.values));
    }
    if (open_.empty()) return document_ = std::move(value);
    if (!open_.back()->is_array()) return *member_ = std::move(value);
    auto& items = open_.back()->get_ref<In::array_t&>();
    return items.emplace_back(std::move(value));
  }

  DocumentLimits most_;
  std::size_t values_ = 0;
  std::size_t parts_ = 0;
  In document_;
  std::vector<In*> open_;  ///< arrays and objects without an end so far, each within the one before
  In* member_ = nullptr;   ///< of the innermost object
};

}  // namespace

In parse(std::string_view text, const DocumentLimits& most) {
  // The library takes a NUL for the end, whatever stands behind it. No JSON has one.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    throw In::parse_error::create(101, at + 1, "a NUL byte", nullptr);
  }
  DocumentBuilder builder(most);
  In::sax_parse(text, &builder);
  return builder.take();
}

std::string text_of(const Out& value, int indent) {
  return value.dump(indent, ' ', false, Out::error_handler_t::replace);
}

std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}\"{}\": ", separator, key);
    text += text_of_member(value, layout_of(key, value));
    separator = ",\n";
  }
  return text + "\n}\n";
}

}  // namespace linkgain::json
