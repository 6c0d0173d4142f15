#include "inference/cipher.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "profiler/atomic_file.h"
#include "profiler/system_error.h"
#include "tensor/error.h"

namespace proa::inline v0::inference {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kTagBytes = 16;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

unsigned char* Bytes(std::string& s) {
  return reinterpret_cast<unsigned char*>(s.data());
}
const unsigned char* Bytes(const std::string& s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

void Check(int ok, const char* what) {
  if (ok != 1) Fail(absl::StatusCode::kInternal, "Cipher: ", what, " failed");
}

std::string Random(int count) {
  std::string out(static_cast<size_t>(count), '\0');
  Check(RAND_bytes(Bytes(out), count), "the source of random bytes");
  return out;
}

const EVP_CIPHER* AesFor(const std::string& key) {
  switch (key.size()) {
    case 16:
      return EVP_aes_128_gcm();
    case 24:
      return EVP_aes_192_gcm();
    case 32:
      return EVP_aes_256_gcm();
    default:
      FailArgument("Cipher: a key has 16, 24 or 32 bytes; this one has ",
                   key.size());
  }
}

// A context of AES-GCM, ready for bytes.
Context Begin(const std::string& key, const unsigned char* vector,
              bool encrypt) {
  Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  PROA_REQUIRE(context != nullptr, "Cipher: no memory for a context");
  Check(EVP_CipherInit_ex(context.get(), AesFor(key), nullptr, nullptr, nullptr,
                          encrypt),
        "AES");
  Check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_IVLEN, kVectorBytes,
                            nullptr),
        "the initialization vector");
  Check(EVP_CipherInit_ex(context.get(), nullptr, nullptr, Bytes(key), vector,
                          encrypt),
        "the key");
  return context;
}

// OpenSSL counts in int.
void Update(EVP_CIPHER_CTX* context, const unsigned char* from, size_t count,
            unsigned char* to) {
  constexpr size_t kPiece = size_t{1} << 30;
  while (count > 0) {
    const size_t n = std::min(count, kPiece);
    int written = 0;
    Check(EVP_CipherUpdate(context, to, &written, from, static_cast<int>(n)),
          "AES");
    from += n;
    to += n;
    count -= n;
  }
}

class AesGcm final : public Cipher {
 public:
  std::string Encrypt(const std::string& plain,
                      const std::string& key) const override {
    std::string out = Random(kVectorBytes);
    const Context context = Begin(key, Bytes(out), true);
    out.resize(kVectorBytes + plain.size() + kTagBytes);
    Update(context.get(), Bytes(plain), plain.size(),
           Bytes(out) + kVectorBytes);
    unsigned char* const tag = Bytes(out) + kVectorBytes + plain.size();
    int written = 0;
    Check(EVP_CipherFinal_ex(context.get(), tag, &written), "AES");
    Check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                              tag),
          "the tag");
    return out;
  }

  std::string Decrypt(const std::string& encrypted,
                      const std::string& key) const override {
    PROA_REQUIRE(encrypted.size() >= kVectorBytes + kTagBytes,
                 "Cipher: ", encrypted.size(),
                 " bytes; what Encrypt made has at least ",
                 kVectorBytes + kTagBytes);
    const size_t count = encrypted.size() - kVectorBytes - kTagBytes;
    const Context context = Begin(key, Bytes(encrypted), false);
    std::string out(count, '\0');
    Update(context.get(), Bytes(encrypted) + kVectorBytes, count, Bytes(out));
    std::string tag = encrypted.substr(kVectorBytes + count);
    Check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes,
                              Bytes(tag)),
          "the tag");
    unsigned char none[kTagBytes];
    int written = 0;
    if (EVP_CipherFinal_ex(context.get(), none, &written) != 1) {
      OPENSSL_cleanse(out.data(), out.size());
      FailArgument(
          "Cipher: the key is another one than that of Encrypt, or the bytes "
          "were altered");
    }
    return out;
  }
};

std::string ReadFile(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) {
    Fail(absl::StatusCode::kNotFound, path, ": there is no such file");
  }
  PROA_REQUIRE(S_ISREG(st.st_mode), path, ": is no regular file");
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  PROA_REQUIRE(!file.bad() && file.is_open(), path, ": cannot be read");
  return bytes;
}

void WriteFile(const std::string& path, const std::string& bytes) {
  absl::StatusOr<profiler::AtomicFile> file =
      profiler::AtomicFile::Create(path);
  ThrowIfError(file.status());
  ThrowIfError(file->Append(bytes));
  ThrowIfError(file->Commit());
}

}  // namespace

void Cipher::EncryptToFile(const std::string& plain, const std::string& key,
                           const std::string& path) const {
  WriteFile(path, Encrypt(plain, key));
}

std::string Cipher::DecryptFromFile(const std::string& key,
                                    const std::string& path) const {
  const std::string bytes = ReadFile(path);
  try {
    return Decrypt(bytes, key);
  } catch (const Error& e) {
    e.ThrowAfter(path + ": ");
  }
}

std::shared_ptr<Cipher> MakeCipher(const std::string& config_file) {
  if (!config_file.empty()) {
    const std::map<std::string, std::string> needed = {
        {"cipher_name", "AES_GCM_NoPadding"},
        {"iv_size", "128"},
        {"tag_size", "128"}};
    const auto given = CipherUtils::LoadConfig(config_file);
    for (const auto& [name, value] : needed) {
      const auto at = given.find(name);
      if (at == given.end()) continue;
      const bool same =
          at->second == value || at->second.rfind(value + "(with tag)", 0) == 0;
      PROA_REQUIRE(same, config_file, ": ", name, " is '", at->second,
                   "'; there is only '", value, "'");
    }
  }
  return std::make_shared<AesGcm>();
}

std::string CipherUtils::GenKey(int bits) {
  PROA_REQUIRE(bits == 128 || bits == 192 || bits == 256,
               "GenKey: a key has 128, 192 or 256 bits, not ", bits);
  return Random(bits / CHAR_BIT);
}

std::string CipherUtils::GenKeyToFile(int bits, const std::string& path) {
  const std::string key = GenKey(bits);
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) ThrowIfError(profiler::SystemError(errno, path, "cannot open"));
  // Also of a file that was there before, and others could read.
  const bool ok =
      ::fchmod(fd, 0600) == 0 &&
      ::write(fd, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const int error = errno;
  if (::close(fd) != 0 || !ok) {
    ThrowIfError(profiler::SystemError(error, path, "cannot write"));
  }
  return key;
}

std::string CipherUtils::ReadKeyFromFile(const std::string& path) {
  const std::string key = ReadFile(path);
  try {
    AesFor(key);
  } catch (const Error& e) {
    e.ThrowAfter(path + ": ");
  }
  return key;
}

std::map<std::string, std::string> CipherUtils::LoadConfig(
    const std::string& path) {
  std::map<std::string, std::string> out;
  const std::string text = ReadFile(path);
  for (size_t at = 0, line = 1; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string row = text.substr(at, end - at);
    at = end + 1;
    row.resize(std::min(row.find('#'), row.size()));
    const auto stripped = [](const std::string& s) {
      return std::string(absl::StripAsciiWhitespace(s));
    };
    if (stripped(row).empty()) continue;
    const size_t colon = row.find(':');
    PROA_REQUIRE(colon != row.npos, path, ": line ", line,
                 " is no `name : value`");
    out[stripped(row.substr(0, colon))] = stripped(row.substr(colon + 1));
  }
  return out;
}

}  // namespace proa::inline v0::inference
