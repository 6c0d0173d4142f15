// Encrypted models: AES in Galois counter mode (OpenSSL), which also tells
// whether the bytes are those that were encrypted.
//
//   const auto cipher = proa::inference::MakeCipher();
//   const std::string key = CipherUtils::ReadKeyFromFile("model.key");
//   const std::string program = cipher->DecryptFromFile(key,
//   "net.pdmodel.enc");
//   ...
//   config.SetModelBuffer(program.data(), program.size(), ...);
//
// It keeps files from being read where they lie or travel. Whoever runs the
// program that holds the key, or reads its memory, has the model.
#ifndef PROA_INFERENCE_CIPHER_H_
#define PROA_INFERENCE_CIPHER_H_

#include <map>
#include <memory>
#include <string>

namespace proa::inline v0::inference {

// Keys have 16, 24 or 32 bytes: AES-128, -192, -256. Methods throw for other
// keys, and may be called from many threads at once.
class Cipher {
 public:
  virtual ~Cipher() = default;
  // 16 random bytes (the initialization vector), the encrypted bytes, 16 bytes
  // that prove them. Two calls never give the same.
  virtual std::string Encrypt(const std::string& plain,
                              const std::string& key) const = 0;
  // Throws if the key is another one or a byte was changed.
  virtual std::string Decrypt(const std::string& encrypted,
                              const std::string& key) const = 0;
  // The file appears whole or not at all.
  void EncryptToFile(const std::string& plain, const std::string& key,
                     const std::string& path) const;
  std::string DecryptFromFile(const std::string& key,
                              const std::string& path) const;
};

// `config_file`: "" for the cipher above, or a file with lines `name : value`;
// its `cipher_name` must be AES_GCM_NoPadding, its `iv_size` and `tag_size`
// 128.
std::shared_ptr<Cipher> MakeCipher(const std::string& config_file = "");

struct CipherUtils {
  // Random bytes; `bits` is 128, 192 or 256.
  static std::string GenKey(int bits);
  // The same, written to a file that only its owner reads.
  static std::string GenKeyToFile(int bits, const std::string& path);
  static std::string ReadKeyFromFile(const std::string& path);
  // The lines `name : value` of a file; '#' begins a comment.
  static std::map<std::string, std::string> LoadConfig(const std::string& path);
};

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_CIPHER_H_
