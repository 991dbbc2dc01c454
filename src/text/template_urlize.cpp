// The filter urlize: addresses in plain text become links. The text is escaped first; words are what stands between
// white space, and brackets and punctuation around an address stay outside the link.
#include <algorithm>
#include <array>
#include <set>

#include "text/template_filters.h"
#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

// ASCII letters whatever their case, and the four characters Unicode folds into them.
bool equal_without_case(uint32_t c, char lower) {
  if (c == static_cast<uint32_t>(lower) || (lower >= 'a' && lower <= 'z' && c + 32 == static_cast<uint32_t>(lower)))
    return true;
  return (lower == 'i' && (c == 0x130 || c == 0x131)) || (lower == 's' && c == 0x17f) || (lower == 'k' && c == 0x212a);
}
bool is_letter(uint32_t c) {
  for (char lower = 'a'; lower <= 'z'; ++lower)
    if (equal_without_case(c, lower)) return true;
  return false;
}
bool is_digit(uint32_t c) { return (properties_of(c) & kDecimal) != 0; }
bool in_label(uint32_t c) { return is_word(c) || c == '%' || c == '-'; }

// A word as code points, read from the front.
class Address {
 public:
  explicit Address(std::string_view word) {
    for (size_t at = 0; at < word.size();) points_.push_back(next_code_point(word, at));
  }

  // scheme or www with a domain, a domain of a well-known kind, or a scheme with an IP address; then port and path.
  bool is_web() {
    const bool scheme = take("https://") || take("http://");
    if (scheme || take("www.")) {
      const size_t host = at_;
      if (take_domain(false) && rest()) return true;
      at_ = host;
      return scheme && (take_ip4() || take_ip6()) && rest();
    }
    return take_domain(true) && rest();
  }

  // something@domain.tld
  bool is_mail() const {
    const auto sign = std::find(points_.rbegin(), points_.rend(), uint32_t('@'));
    if (sign == points_.rend() || sign + 1 == points_.rend()) return false;
    const std::vector<uint32_t> host(sign.base(), points_.end());
    const auto dot = std::find(host.rbegin(), host.rend(), uint32_t('.'));
    if (dot == host.rend() || dot == host.rbegin() || dot + 1 == host.rend() || !is_word(host[0])) return false;
    return std::all_of(host.rbegin(), dot, is_word) &&
           std::all_of(host.begin(), host.end(), [](uint32_t c) { return is_word(c) || c == '.' || c == '-'; });
  }

 private:
  uint32_t peek() const { return at_ < points_.size() ? points_[at_] : 0; }
  bool done() const { return at_ == points_.size(); }

  bool take(std::string_view text) {
    if (points_.size() - at_ < text.size()) return false;
    for (size_t i = 0; i < text.size(); ++i)
      if (!equal_without_case(points_[at_ + i], text[i])) return false;
    at_ += text.size();
    return true;
  }

  using Label = std::vector<uint32_t>;
  static bool spells(const Label& label, std::string_view text) {
    return label.size() == text.size() && std::equal(label.begin(), label.end(), text.begin(), equal_without_case);
  }
  static bool is_top_level(const Label& label, bool well_known) {
    static constexpr std::array<std::string_view, 8> kKinds = {"com", "net", "int", "edu", "gov", "org", "info", "mil"};
    if (well_known) return std::any_of(kKinds.begin(), kKinds.end(), [&](auto kind) { return spells(label, kind); });
    if (label.size() >= 2 && label.size() <= 63 && std::all_of(label.begin(), label.end(), is_letter)) return true;
    return label.size() >= 6 && label.size() <= 63 && spells({label.begin(), label.begin() + 4}, "xn--") &&
           std::all_of(label.begin() + 4, label.end(), [](uint32_t c) { return is_word(c) || c == '%'; });
  }

  // Labels with points between them; `well_known`: at least two, the last one of the first top-level domains.
  bool take_domain(bool well_known) {
    std::vector<Label> labels(1);
    for (; !done() && (in_label(peek()) || peek() == '.'); ++at_) {
      if (peek() == '.')
        labels.emplace_back();
      else
        labels.back().push_back(peek());
    }
    if (well_known && labels.size() < 2) return false;
    for (size_t i = 0; i + 1 < labels.size(); ++i)
      if (labels[i].size() < (well_known ? 2 : 1) || (well_known && labels[i].size() > 63)) return false;
    return is_top_level(labels.back(), well_known);
  }

  bool take_ip4() {
    const size_t begin = at_;
    for (int part = 0; part < 4; ++part) {
      if (part > 0 && !take(".")) return at_ = begin, false;
      const size_t digits = at_;
      while (!done() && at_ < digits + 3 && is_digit(peek())) ++at_;
      if (at_ == digits) return at_ = begin, false;
    }
    return true;
  }

  // [a:b:...]: two groups of up to four digits with their colons, then up to six more whose colons may be missing.
  bool take_ip6() {
    if (!take("[")) return false;
    int groups = 0, colons = 0;
    for (size_t run = 0; !done(); ++at_) {
      const uint32_t c = peek();
      const bool end = c == ']';
      if (end || c == ':') {
        if (colons < 2 && run > 4) return false;
        if (colons >= 2) groups += static_cast<int>((run + 3) / 4) + (run == 0 && !end ? 1 : 0);
        colons += end ? 0 : 1;
        run = 0;
        if (end) return ++at_, colons >= 2 && groups <= 6;
      } else if (is_digit(c) || (is_letter(c) && (c | 0x20) <= 'f')) {
        ++run;
      } else {
        return false;
      }
    }
    return false;
  }

  bool rest() {
    if (take(":")) {
      const size_t digits = at_;
      while (!done() && at_ < digits + 5 && is_digit(peek())) ++at_;
      if (at_ == digits) return false;
    }
    return done() || peek() == '/' || peek() == '?' || peek() == '#';
  }

  std::vector<uint32_t> points_;
  size_t at_ = 0;
};

struct LinkStyle {
  const Value* most = nullptr;  // code points of an address that are shown; looked at when there is an address
  std::string attributes;
  std::vector<std::string> schemes;
};

constexpr std::string_view kOpening[] = {"(", "<", "&lt;"};
constexpr std::string_view kClosing[] = {")", ">", "&gt;"};

// The address as it is shown.
std::string shown(const std::string& address, const LinkStyle& style) {
  if (style.most == nullptr) return address;
  Int keep = int_argument("urlize", *style.most);
  if (count_code_points(address) <= keep) return address;
  if (keep < 0)  // from the end, as a slice would
    keep = std::max<Int>(count_code_points(address) + keep, 0);
  return address.substr(0, byte_of_code_point(address, static_cast<int64_t>(keep))) + "...";
}

std::string linked(const std::string& word, const LinkStyle& style) {
  if (Address(word).is_web()) {
    const bool scheme = word.starts_with("https://") || word.starts_with("http://");
    return fmt::format("<a href=\"{}{}\"{}>{}</a>", scheme ? "" : "https://", word, style.attributes,
                       shown(word, style));
  }
  if (word.starts_with("mailto:") && Address(word.substr(7)).is_mail())
    return fmt::format("<a href=\"{}\">{}</a>", word, word.substr(7));
  if (word.find('@') != word.npos && !word.starts_with("www.") && word.find(':') == word.npos &&
      Address(word).is_mail())
    return fmt::format("<a href=\"mailto:{}\">{}</a>", word, word);
  std::string out = word;
  for (const std::string& scheme : style.schemes)
    if (out != scheme && out.starts_with(scheme))
      out = fmt::format("<a href=\"{}\"{}>{}</a>", out, style.attributes, out);
  return out;
}

size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = find_text(text, part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

// A word without what opens before it and closes behind it. What closes a bracket inside the word stays with it.
std::string linked_word(std::string_view word, const LinkStyle& style) {
  size_t begin = 0, end = word.size();
  const auto opens = [&](std::string_view part) { return word.substr(begin).starts_with(part); };
  for (bool found = true; found;) {
    found = false;
    for (std::string_view part : kOpening)
      if (opens(part)) begin += part.size(), found = true;
  }
  for (bool found = true; found && end > begin;) {
    found = false;
    for (std::string_view part : {std::string_view(")"), std::string_view(">"), std::string_view("."),
                                  std::string_view(","), std::string_view("&gt;")})
      if (word.substr(begin, end - begin).ends_with(part)) end -= part.size(), found = true;
  }
  for (size_t i = 0; i < std::size(kOpening); ++i) {
    const size_t open = occurrences(word.substr(begin, end - begin), kOpening[i]);
    if (open <= occurrences(word.substr(begin, end - begin), kClosing[i])) continue;
    for (size_t n = std::min(open, occurrences(word.substr(end), kClosing[i])); n > 0; --n)
      end = find_text(word, kClosing[i], end) + kClosing[i].size();
  }
  return fmt::format("{}{}{}", word.substr(0, begin), linked(std::string(word.substr(begin, end - begin)), style),
                     word.substr(end));
}

// A scheme is letters, digits and + - . with a colon and up to two slashes: "tel:", "ftp://".
bool is_scheme(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (int slashes = 0; slashes < 2 && text.ends_with('/'); ++slashes) text.remove_suffix(1);
  if (!text.ends_with(':')) return false;
  text.remove_suffix(1);
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_code_point(text, at);
    if (!is_word(c) && c != '.' && c != '+' && c != '-') return false;
  }
  return count_code_points(text) >= 2;
}

std::string rel_of(const Value* given, bool nofollow) {
  std::set<std::string> parts = {"noopener"};
  if (nofollow) parts.insert("nofollow");
  if (given != nullptr) {
    const std::string& text = given->string().text;
    for (size_t at = 0, begin = 0; at <= text.size();) {
      const size_t here = at;
      const bool end = at == text.size();
      if (end || is_space(next_code_point(text, at))) {
        if (here > begin) parts.insert(text.substr(begin, here - begin));
        begin = at;
        if (end) break;
      }
    }
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

// Behind the word, or the white space, that begins here.
size_t run_end(std::string_view text, size_t at) {
  size_t next = at;
  const bool space = is_space(next_code_point(text, next));
  while (next < text.size()) {
    at = next;
    if (is_space(next_code_point(text, next)) != space) return at;
  }
  return text.size();
}

}  // namespace

Value urlize(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("urlize", a, {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"});
  LinkStyle style;
  if (given(b[0])) style.most = b[0];
  const Value* rel = flag(b[3]) ? b[3] : nullptr;
  if (rel != nullptr) text_argument("urlize", *rel);
  const auto attribute = [&](std::string_view name, const Value& value) {
    style.attributes += fmt::format(" {}=\"{}\"", name, escape(heap, value).string().text);
  };
  attribute("rel", heap.text(rel_of(rel, flag(b[1]))));
  if (flag(b[2])) attribute("target", *b[2]);
  if (given(b[4]))
    for (const Value& scheme : iterate(heap, *b[4])) {
      if (!is_scheme(text_argument("urlize", scheme).text))
        fail("'{}' is not a valid URI scheme prefix.", scheme.string().text);
      style.schemes.push_back(scheme.string().text);
    }

  const Value escaped = escape(heap, v);
  const std::string& text = escaped.string().text;
  const bool trusted = escaped.string().trusted();
  Text out(heap);
  for (size_t at = 0; at < text.size();) {
    const size_t end = run_end(text, at);
    const std::string_view run = std::string_view(text).substr(at, end - at);
    heap.spend_bytes(run.size() * 64);
    size_t first = 0;
    const bool space = is_space(next_code_point(run, first));
    out.append(space ? std::string(run) : linked_word(run, style), trusted);
    at = end;
  }
  return out.finish(heap.autoescape);
}

}  // namespace ingle::jinja
