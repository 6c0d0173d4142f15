// Built by archive_test in a workspace that holds nothing but bazel/ and
// third_party/.
#include <iostream>

#include "bazel/testing/scale.h"

int main() { std::cout << proa::isa::sse2::Scale({1}, 2, 3)[0] << '\n'; }
