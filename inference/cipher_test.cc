#include "inference/cipher.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "inference/model_for_test.h"
#include "inference/predictor.h"
#include "tensor/error.h"

namespace proa::inline v0::inference {
namespace {

std::string Path(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Hex(const std::string& digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return out;
}

TEST(Cipher, ThereAndBack) {
  const auto cipher = MakeCipher();
  for (int bits : {128, 192, 256}) {
    const std::string key = CipherUtils::GenKey(bits);
    EXPECT_EQ(key.size(), static_cast<size_t>(bits / 8));
    EXPECT_NE(key, CipherUtils::GenKey(bits));
    for (size_t n : {0, 1, 15, 16, 17, 100000}) {
      const std::string plain(n, 'p');
      const std::string once = cipher->Encrypt(plain, key);
      EXPECT_EQ(once.size(), n + 32);
      EXPECT_NE(once, cipher->Encrypt(plain, key));
      EXPECT_EQ(cipher->Decrypt(once, key), plain);
    }
  }
}

// Computed from the definitions of AES and GCM in Python, without OpenSSL.
TEST(Cipher, KnownAnswer) {
  const std::string key = Hex("000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(MakeCipher()->Decrypt(
                Hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
                    "8ee2db97832d95c402d7a0711ba68d6963a9139d21fdfa"),
                key),
            "a model");
}

TEST(Cipher, EachChangedBitIsFound) {
  const auto cipher = MakeCipher();
  const std::string key = CipherUtils::GenKey(256);
  const std::string good = cipher->Encrypt("a model", key);
  for (size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
    EXPECT_THROW(cipher->Decrypt(bad, key), Error) << i;
  }
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_THROW(cipher->Decrypt(good.substr(0, n), key), Error) << n;
  }
  EXPECT_THROW(cipher->Decrypt(good, CipherUtils::GenKey(256)), Error);
}

TEST(Cipher, BadKeysAndFiles) {
  const auto cipher = MakeCipher();
  EXPECT_THROW(cipher->Encrypt("x", ""), Error);
  EXPECT_THROW(cipher->Encrypt("x", std::string(17, 'k')), Error);
  EXPECT_THROW(CipherUtils::GenKey(0), Error);
  EXPECT_THROW(CipherUtils::GenKey(255), Error);
  EXPECT_THROW(CipherUtils::ReadKeyFromFile("/nowhere/key"), Error);
  EXPECT_THROW(CipherUtils::ReadKeyFromFile("/dev/zero"), Error);
  EXPECT_THROW(cipher->DecryptFromFile(std::string(16, 'k'), "/nowhere/model"),
               Error);
  EXPECT_THROW(
      cipher->EncryptToFile("x", std::string(16, 'k'), "/nowhere/model"),
      Error);
}

TEST(Cipher, KeysAreTheirOwners) {
  const std::string path = Path("key");
  const std::string key = CipherUtils::GenKeyToFile(256, path);
  EXPECT_EQ(CipherUtils::ReadKeyFromFile(path), key);
  struct stat st;
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 077, 0u);
}

TEST(Cipher, Configs) {
  std::ofstream(Path("good"))
      << "# a comment\ncipher_name : AES_GCM_NoPadding\n"
         "iv_size : 128\n\ntag_size: 128 # bits\n";
  EXPECT_EQ(CipherUtils::LoadConfig(Path("good")).at("tag_size"), "128");
  EXPECT_NE(MakeCipher(Path("good")), nullptr);
  std::ofstream(Path("other")) << "cipher_name : AES_ECB_PKCSPadding\n";
  EXPECT_THROW(MakeCipher(Path("other")), Error);
  std::ofstream(Path("bad")) << "cipher_name\n";
  EXPECT_THROW(MakeCipher(Path("bad")), Error);
  EXPECT_THROW(MakeCipher("/nowhere"), Error);
}

TEST(Cipher, AnEncryptedModelRuns) {
  const std::string prefix = SavedModel();
  const auto cipher = MakeCipher();
  const std::string key = CipherUtils::GenKey(256);
  for (const char* file : {".pdmodel", ".pdiparams"}) {
    cipher->EncryptToFile(Contents(prefix + file), key, prefix + file + ".enc");
  }
  const std::string program =
      cipher->DecryptFromFile(key, prefix + ".pdmodel.enc");
  const std::string weights =
      cipher->DecryptFromFile(key, prefix + ".pdiparams.enc");
  Config config;
  config.SetModelBuffer(program.data(), program.size(), weights.data(),
                        weights.size());
  const auto p = CreatePredictor(config);
  const auto in = p->GetInputHandle("x");
  const float x[2] = {1, 1};
  in->Reshape({1, 2});
  in->CopyFromCpu(x);
  p->Run();
  float y[2];
  p->GetOutputHandle("y")->CopyToCpu(y);
  EXPECT_EQ(y[0], 4);
}

}  // namespace
}  // namespace proa::inline v0::inference
