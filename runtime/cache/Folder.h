// SPDX-License-Identifier: Apache-2.0
// Who is trusted. What the cache holds is executed, so a file counts only where nobody but those trusted can have written it: the file and
// every folder from the cache's root down to it belong to a trusted user, and neither their groups nor others may write to them. Each
// folder is opened from the one before and without following links, and what is open is what is checked, so that nothing can be exchanged
// between the look and the use. (Access control lists show in the group's bits, so that they need no look of their own.)
#ifndef FATTN_RUNTIME_CACHE_FOLDER_H
#define FATTN_RUNTIME_CACHE_FOLDER_H

#include <sys/stat.h>

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fattn::cache {

/// Whose files are taken.
enum class Trust : std::uint8_t {
  Own,           ///< this user's and root's
  Shared,        ///< also those of the owner of the root folder, which the user has named; nothing is written
  Installation,  ///< as Shared, and groups may write: whoever can write there can write to the library that lies beside it
};

/// Why something was not read or written.
struct Refusal {
  int error = 0;          ///< an errno; EPERM where somebody else might have written it
  std::string why;        ///< a clause: "/a/b: others may write to it"
  bool distrust = false;  ///< it is there, but not to be trusted
  /// There is nothing.
  bool absent() const;
};

class Folder {
 public:
  /// The folder `below` of `root`. The path of the root is the user's and may have links; no part of `below` may be one. `create`: what is
  /// missing is made, for this user alone whatever the umask.
  static std::expected<Folder, Refusal> open(const std::filesystem::path& root, const std::filesystem::path& below, Trust trust,
                                             bool create);
  ~Folder();
  Folder(Folder&& from) noexcept;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;

  int descriptor() const { return descriptor_; }

  /// The bytes of an ordinary file of at most `limit` bytes. `touchAfter`: seconds after which reading it is noted in its time of last
  /// modification; never if negative.
  std::expected<std::string, Refusal> read(const std::string& name, std::size_t limit, double touchAfter) const;
  /// The names of its entries, sorted, at most `most`.
  std::vector<std::string> entries(std::size_t most) const;
  /// What `name` is, not what it may link to; false where there is nothing.
  bool look(const std::string& name, struct stat& info) const;

 private:
  Folder(int descriptor, std::filesystem::path path, uid_t owner, Trust trust)
      : descriptor_(descriptor), path_(std::move(path)), owner_(owner), trust_(trust) {}
  std::expected<Folder, Refusal> child(const std::filesystem::path& name, bool create) const;
  std::string distrust(const struct stat& info) const;

  int descriptor_;
  std::filesystem::path path_;  // for messages
  uid_t owner_;                 // whom this user trusts besides root
  Trust trust_;
};

/// Seconds from a file's last modification until now.
double secondsSince(const timespec& time);

}  // namespace fattn::cache

#endif
