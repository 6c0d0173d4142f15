#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/compile.h"
#include "inference/engine.h"
#include "inference/watching.h"
#include "jit/evaluate.h"
#include "jit/executor.h"
#include "jit/program.h"
#include "jit/program_file.h"
#include "jit/text.h"
#include "tensor/execution.h"
#include "tensor/tensor.h"

namespace proa::inline v0::inference {
namespace {

// This library's own.
class ProgramEngine final : public Engine {
 public:
  ProgramEngine(Compiled compiled, int threads)
      : packed_(std::move(compiled.packed)),
        ids_(compiled.module.inputs),
        executor_(std::move(compiled.executor)),
        threads_(threads) {
    const jit::Module& m = compiled.module;
    for (const jit::ValueId id : m.inputs) {
      const jit::ValueInfo& v = m.program->value(id);
      inputs_.push_back({v.name, v.meta});
    }
    for (size_t i = 0; i < m.outputs.size(); ++i) {
      outputs_.push_back(
          {m.output_names[i], m.program->value(m.outputs[i]).meta});
    }
  }

  std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs,
                                const Hooks& hooks) const override {
    const ExecutionScope scope({.num_threads = threads_});
    std::vector<std::pair<jit::ValueId, proa::Tensor>> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      feeds.emplace_back(ids_[i], inputs[i]);
    }
    if (hooks.empty()) return executor_->Run(feeds);
    Watching watching(hooks);
    const jit::WatchScope shown(&watching);
    return executor_->Run(feeds);
  }

  void CheckHooks() const override {}

  std::string Plan() const override {
    return jit::ToText(executor_->program());
  }

 private:
  const std::shared_ptr<void> packed_;  // goes last
  const std::vector<jit::ValueId> ids_;
  // It holds the parameters that it needs; the module is not kept.
  const std::shared_ptr<const jit::Executor> executor_;
  const int threads_;
};

}  // namespace

std::shared_ptr<const Engine> MakeProgramEngine(Compiled compiled,
                                                int threads) {
  return std::make_shared<ProgramEngine>(std::move(compiled), threads);
}

}  // namespace proa::inline v0::inference
