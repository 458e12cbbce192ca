// SPDX-License-Identifier: Apache-2.0
#include "simile/core/event.h"

namespace simile {

EventSink& silent_events() {
  static EventSink sink;
  return sink;
}

}  // namespace simile
