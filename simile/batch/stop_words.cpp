// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/detail/stop_words.h"

#include "simile/text/words.h"

namespace simile::detail {
namespace {

constexpr const char* kEnglish =
    // articles and determiners
    "a an the this that these those each every either neither any some all both few many much "
    "more most several such another other others same own no none "
    // pronouns
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself we us our ours ourselves they them their theirs themselves one ones "
    "who whom whose which what whatever whoever someone somebody something anyone anybody anything "
    "everyone everybody everything nobody nothing "
    // prepositions
    "about above across after against along among around as at before behind below beneath beside "
    "besides between beyond by despite down during except for from in inside into like near of off "
    "on onto out outside over per past since than through throughout till to toward towards under "
    "until up upon via with within without "
    // conjunctions
    "and but or nor so yet if unless because although though while whereas whether when whenever "
    "where wherever why how then else "
    // auxiliary verbs
    "am is are was were be been being do does did doing done have has had having can could may "
    "might must shall should will would ought cannot get gets got "
    // adverbs of degree, place and time without a subject of their own
    "again also already always almost even ever here just maybe never not now often only perhaps "
    "quite rather really sometimes soon still there thus too very "
    // what is left of contractions
    "s t d m o re ve ll don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn "
    "couldn mustn needn ain";

}  // namespace

const std::vector<std::string>& english_stop_words() {
  static const std::vector<std::string> words = split_words(kEnglish);
  return words;
}

}  // namespace simile::detail
