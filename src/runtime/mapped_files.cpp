#include "ingle/mapped_files.h"

#include "base/mapped_file.h"

namespace ingle {

const char* mapped_file_at(const void* address) noexcept { return MappedFile::name_at(address); }

}  // namespace ingle
