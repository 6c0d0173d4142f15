// A shared library that is no device plugin.
extern "C" __attribute__((visibility("default"))) int ProaNothing() {
  return 0;
}
