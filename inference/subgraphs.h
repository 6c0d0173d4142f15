// Parts of a program that another engine computes; the others run here.
//
//   class Tanh final : public SubgraphEngine { ... };
//   RegisterSubgraphEngine(std::make_shared<Tanh>());
//   config.EnableSubgraphEngine("tanh");
//
// An engine says which operations of a program it computes, and is given them
// as programs of their own: as few, and as large, as the dependencies allow.
// Sizes that are open stay open in parts. Of this project, not of the library's
// users: headers of theirs show no programs.
#ifndef PROA_INFERENCE_SUBGRAPHS_H_
#define PROA_INFERENCE_SUBGRAPHS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine.h"
#include "jit/program_file.h"

namespace proa::inline v0::inference {

// How parts run.
struct SubgraphSettings {
  int threads = 0;        // for one operation; 0 for the engine's choice
  bool optimized = true;  // whether the engine changes its parts first
  std::string folder;     // where it may keep what it makes of them; or empty
};

class SubgraphEngine {
 public:
  virtual ~SubgraphEngine() = default;

  // What configs call it, and messages.
  virtual std::string name() const = 0;
  // A part of fewer is not worth carrying tensors there and back.
  virtual size_t least_operations() const { return 3; }
  // For each operation of the program's block, whether it computes it.
  virtual std::vector<bool> Claims(const jit::Module& whole) const = 0;
  // What runs a part, from many threads at once. An error declines: the part
  // runs here, and a warning says why.
  virtual absl::StatusOr<std::shared_ptr<const Engine>> Compile(
      const jit::Module& part, const SubgraphSettings& settings) const = 0;
};

// Under its name, in place of one that had it. From any thread.
void RegisterSubgraphEngine(std::shared_ptr<const SubgraphEngine> engine);
// Throws Error for a name that none has; it lists those that there are.
std::shared_ptr<const SubgraphEngine> FindSubgraphEngine(
    const std::string& name);

// A module, which is left as it is, as parts for `engine` and parts that `own`
// makes something of that runs here. Sentences for who loads it go to `warn`.
std::shared_ptr<const Engine> Split(
    const jit::Module& module, const SubgraphEngine& engine,
    const SubgraphSettings& settings,
    const std::function<std::shared_ptr<const Engine>(jit::Module part)>& own,
    const std::function<void(const std::string& sentence)>& warn);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_SUBGRAPHS_H_
