// A set that a signal handler can empty while any thread adds to it and removes from it.
#pragma once

#include <atomic>
#include <memory>

namespace ingle {

// Holds values for as long as their members live. Nothing waits for a lock: a handler may run inside any call. Meant
// for a static: places are used again, but freed only by the end of the process.
template <class T>
class SignalSet {
  struct Place {
    std::atomic<T*> value{nullptr};
    Place* next = nullptr;
  };
  struct Remove {
    Place* place = nullptr;
    void operator()(T* value) const noexcept {
      T* held = value;
      // What a handler took is its own: the process is about to end.
      if (place->value.compare_exchange_strong(held, nullptr)) delete value;
    }
  };

 public:
  using Member = std::unique_ptr<T, Remove>;

  Member add(std::unique_ptr<T> value) {
    for (Place* place = first_.load(); place != nullptr; place = place->next) {
      T* none = nullptr;
      if (place->value.compare_exchange_strong(none, value.get())) return {value.release(), {place}};
    }
    auto* place = new Place;
    place->value = value.get();
    place->next = first_.load();
    while (!first_.compare_exchange_weak(place->next, place)) {
    }
    return {value.release(), {place}};
  }

  // For a handler: calls `use` with each value, which afterwards is in the set no more.
  template <class Use>
  void take_all(Use use) noexcept {
    for (Place* place = first_.load(); place != nullptr; place = place->next)
      if (const T* value = place->value.exchange(nullptr)) use(*value);
  }

 private:
  static_assert(std::atomic<T*>::is_always_lock_free);
  std::atomic<Place*> first_{nullptr};
};

}  // namespace ingle
