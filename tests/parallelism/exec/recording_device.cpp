#include "tests/parallelism/exec/recording_device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/types.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "parallelism/exec/optimizer/fused_operators.h"
#include "tests/parallelism/exec/forwarding_device.h"

namespace parabench::exec {
namespace {

// Below autograd, above every backend, and unused by torch itself.
constexpr c10::DispatchKey recorder_key = c10::DispatchKey::Fake;
const c10::DispatchKeySet below_recorder(c10::DispatchKeySet::FULL_AFTER, recorder_key);

template <class Use>
void for_each_tensor(const c10::IValue& value, const Use& use) {
  if (value.isTensor() && value.toTensor().defined()) use(value.toTensor());
  if (!value.isList()) return;
  for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, use);
}

/// Calls in their order, with operands and results as they were.
class RecordedCalls final : public CapturedWork {
 public:
  explicit RecordedCalls(const std::function<void()>& work);
  void replay() override;
  void record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack& stack);

 private:
  struct Call {
    c10::OperatorHandle operation;
    c10::DispatchKeySet keys;
    std::vector<c10::IValue> operands, results;
  };
  struct Saved {
    torch::Tensor tensor, values;
  };
  void save(const torch::Tensor& tensor);

  std::vector<Call> calls_;
  std::set<const void*> known_;  ///< storages saved, or made by a call
  std::vector<Saved> saved_;
};

thread_local RecordedCalls* recorder = nullptr;

void fall_back(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(recorder_key);
  recorder->record(operation, keys & below_recorder, *stack);
}

TORCH_LIBRARY_IMPL(_, Fake, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>()); }

RecordedCalls::RecordedCalls(const std::function<void()>& work) {
  recorder = this;
  {
    const c10::impl::IncludeDispatchKeyGuard recording(recorder_key);
    work();
  }
  recorder = nullptr;
  const torch::NoGradGuard no_grad;
  for (const Saved& saved : saved_) saved.tensor.copy_(saved.values);
  saved_.clear();
}

void RecordedCalls::save(const torch::Tensor& tensor) {
  if (!known_.insert(tensor.storage().unsafeGetStorageImpl()).second) return;
  const auto count = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.element_size());
  const torch::Tensor whole = torch::empty({0}, tensor.options()).set_(tensor.storage(), 0, {count}, {1});
  saved_.push_back({whole, whole.clone()});
}

void RecordedCalls::record(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack& stack) {
  if (operation.schema().name() == "aten::_local_scalar_dense")
    throw std::logic_error("a value is read on the host during a capture");
  const std::size_t count = operation.schema().arguments().size();
  Call call{operation, keys, {stack.end() - static_cast<std::ptrdiff_t>(count), stack.end()}, {}};
  for (const c10::IValue& operand : call.operands) for_each_tensor(operand, [&](const auto& t) { save(t); });
  operation.redispatchBoxed(keys, &stack);
  const auto results = static_cast<std::ptrdiff_t>(operation.schema().returns().size());
  call.results.assign(stack.end() - results, stack.end());
  for (const c10::IValue& result : call.results)
    for_each_tensor(result, [&](const auto& t) { known_.insert(t.storage().unsafeGetStorageImpl()); });
  calls_.push_back(std::move(call));
}

void RecordedCalls::replay() {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  for (const Call& call : calls_) {
    torch::jit::Stack stack = call.operands;
    call.operation.redispatchBoxed(call.keys, &stack);
    std::vector<torch::Tensor> made;
    for (const c10::IValue& result : stack) for_each_tensor(result, [&](const auto& t) { made.push_back(t); });
    std::size_t next = 0;
    for (const c10::IValue& result : call.results) {
      for_each_tensor(result, [&](const torch::Tensor& first) {
        const torch::Tensor& again = made.at(next++);
        if (!again.is_alias_of(first)) first.copy_(again);
      });
    }
  }
}

class RecordingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  std::string name() const override { return "recording"; }
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) override {
    return std::make_unique<RecordedCalls>(work);
  }
  void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) override {
    update_by_operators(rule, parameters);
  }
};

}  // namespace

std::unique_ptr<Device> recording_device(MemoryAccount& account) { return std::make_unique<RecordingDevice>(account); }

}  // namespace parabench::exec
