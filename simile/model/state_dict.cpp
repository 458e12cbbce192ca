// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/state_dict.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"

namespace simile::detail {
namespace {

constexpr size_t kLongestPickle = size_t{16} << 20;
constexpr size_t kMostValues = size_t{1} << 20;
constexpr size_t kMostSides = 16;

enum class Kind {
  kNone,
  kFlag,
  kInteger,
  kReal,
  kText,
  kTuple,
  kList,
  kDictionary,
  kFunction,
  kStorageType,
  kStorage,
  kTensor
};

constexpr const char* kKindNames[] = {"None",       "a truth value", "a number",  "a number",
                                      "a text",     "a tuple",       "a list",    "a dictionary",
                                      "a function", "a type",        "a storage", "a tensor"};

struct StorageRow {
  const char* name;
  TensorType type;
};

constexpr StorageRow kStorages[] = {
    {"torch.DoubleStorage", TensorType::kF64}, {"torch.FloatStorage", TensorType::kF32},
    {"torch.HalfStorage", TensorType::kF16},   {"torch.BFloat16Storage", TensorType::kBf16},
    {"torch.LongStorage", TensorType::kI64},   {"torch.IntStorage", TensorType::kI32},
    {"torch.ShortStorage", TensorType::kI16},  {"torch.CharStorage", TensorType::kI8},
    {"torch.ByteStorage", TensorType::kU8},    {"torch.BoolStorage", TensorType::kBool},
};

using Place = uint32_t;  // of a value

struct Value {
  Kind kind = Kind::kNone;
  int64_t number = 0;  // flag, integer; row of kFunctions; TensorType of a type, storage, tensor
  std::string text;    // text
  std::vector<Place> items;  // tuple, list; a dictionary's keys and values by turns; a storage's
                             // key and size; a tensor's storage, offset, shape and strides
};

constexpr size_t kLongestKey = 256, kMostArguments = 7;

class Machine {
 public:
  Machine(std::string_view pickle, const std::string& source) : in_(pickle), source_(source) {}

  std::vector<StateDictTensor> run() {
    while (step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("ends with values left over");
    return collect(stack_.back());
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_error(ErrorKind::kInput,
                "{}: data.pkl, byte {}: {}; expected a dictionary of tensors alone, as "
                "torch.save(model.state_dict(), ...) writes it",
                source_, at_, what);
  }

  template <typename... Message>
  void check(bool good, Message&&... message) const {
    if (!good) fail(message_text(std::forward<Message>(message)...));
  }

  // --- Reading the pickle ---

  std::string_view take(uint64_t size) {
    if (size > in_.size() - next_) fail("ends in the middle of a value");
    const std::string_view part = in_.substr(next_, size);
    next_ += size;
    return part;
  }

  uint64_t number(size_t width) {
    const std::string_view part = take(width);
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(part[i]);
    return value;
  }

  std::string_view line() {
    const size_t end = in_.find('\n', next_);
    if (end == std::string_view::npos) fail("ends in the middle of a name");
    const std::string_view text = take(end - next_);
    ++next_;
    return text;
  }

  // Two's complement of 0 to 8 bytes.
  int64_t long_integer() {
    const uint64_t width = number(1);
    if (width > 8) fail(fmt::format("holds a number of {} bytes", width));
    if (width == 0) return 0;
    const uint64_t bits = number(width) << (64 - 8 * width);
    return static_cast<int64_t>(bits) >> (64 - 8 * width);
  }

  // --- The stack ---

  void push(Place place) { stack_.push_back(place); }

  Value& make(Kind kind, int64_t number = 0) {
    if (values_.size() >= kMostValues) fail("holds more than a million values");
    values_.emplace_back();
    values_.back().kind = kind;
    values_.back().number = number;
    push(static_cast<Place>(values_.size() - 1));
    return values_.back();
  }

  void make_text(std::string_view text) { make(Kind::kText).text = std::string(text); }

  Place pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("takes a value from nothing");
    const Place place = stack_.back();
    stack_.pop_back();
    return place;
  }

  std::vector<Place> pop_count(size_t count) {
    std::vector<Place> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  std::vector<Place> pop_to_mark() {
    if (marks_.empty()) fail("takes values up to a mark that is not there");
    const std::vector<Place> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                   stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  void make_tuple(std::vector<Place> items) { make(Kind::kTuple).items = std::move(items); }

  // The value on top, which stays, of that kind.
  Value& top(Kind kind) {
    const Place place = pop();
    push(place);
    return expect(place, kind, "the value to change");
  }

  Value& expect(Place place, Kind kind, const char* what) {
    Value& value = values_[place];
    check(value.kind == kind, "{} is {}, not {}", what, kKindNames[static_cast<size_t>(value.kind)],
          kKindNames[static_cast<size_t>(kind)]);
    return value;
  }

  void append_to(Kind kind, const std::vector<Place>& items) {
    Value& target = top(kind);
    if (kind == Kind::kDictionary && items.size() % 2 != 0) fail("a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void remember(uint64_t key) {
    memo_[key] = pop();
    push(memo_[key]);
  }

  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail(fmt::format("recalls value {}, which was not kept", key));
    push(found->second);
  }

  // --- Globals and what they build ---

  void make_global(const std::string& name);

  void make_named_global() {
    const std::vector<Place> parts = pop_count(2);
    make_global(expect(parts[0], Kind::kText, "a module's name").text + "." +
                expect(parts[1], Kind::kText, "a global's name").text);
  }

  // ("storage", torch.FloatStorage, key, device, numbers)
  void make_storage() {
    const std::vector<Place>& id = expect(pop(), Kind::kTuple, "a persistent id").items;
    check(id.size() >= 5 && expect(id[0], Kind::kText, "a persistent id's kind").text == "storage",
          "a persistent id that is not of a storage");
    const int64_t type = expect(id[1], Kind::kStorageType, "a storage's type").number;
    const int64_t numbers = expect(id[4], Kind::kInteger, "a storage's size").number;
    if (numbers < 0) fail(fmt::format("a storage of {} numbers", numbers));
    const std::string& key = expect(id[2], Kind::kText, "a storage's key").text;
    if (key.size() > kLongestKey) fail(fmt::format("a storage key of {} bytes", key.size()));
    if (id.size() > 5) expect(id[5], Kind::kNone, "a view of a storage");
    const std::vector<Place> key_and_size = {id[2], id[4]};  // making a value moves the others
    make(Kind::kStorage, type).items = key_and_size;
  }

  // (storage, offset, shape, strides, requires_grad, hooks[, metadata])
  void make_tensor(const std::vector<Place>& arguments, size_t least) {
    check(arguments.size() >= least, "a tensor made of {} arguments", arguments.size());
    const int64_t type = expect(arguments[0], Kind::kStorage, "a tensor's storage").number;
    expect(arguments[1], Kind::kInteger, "a tensor's offset");
    expect(arguments[2], Kind::kTuple, "a tensor's shape");
    expect(arguments[3], Kind::kTuple, "a tensor's strides");
    if (arguments.size() == 7) {
      const Value& metadata = values_[arguments[6]];
      if (metadata.kind != Kind::kNone && !metadata.items.empty()) fail("a tensor with metadata");
    }
    make(Kind::kTensor, type).items = {arguments.begin(), arguments.begin() + 4};
  }

  using Arguments = std::vector<Place>;
  struct Function {
    const char* name;
    void (*run)(Machine& machine, const Arguments& arguments);
  };
  static const Function kFunctions[];

  void call() {
    const Arguments given = expect(pop(), Kind::kTuple, "a call's arguments").items;
    if (given.size() > kMostArguments) fail(fmt::format("a call with {} arguments", given.size()));
    const Value& function = expect(pop(), Kind::kFunction, "what is called");
    kFunctions[function.number].run(*this, given);
  }

  struct Opcode {
    uint8_t code;
    const char* name;
    void (*run)(Machine& machine);  // null: it is refused
  };
  static const Opcode kOpcodes[];

  // Returns false at the end.
  bool step();

  // --- The result ---

  std::vector<int64_t> sizes(Place place, const std::string& name, const char* what) {
    std::vector<int64_t> out;
    for (const Place item : values_[place].items) {
      const Value& side = values_[item];
      check(side.kind == Kind::kInteger && side.number >= 0 && out.size() != kMostSides,
            "tensor '{}' has {} that are not at most {} whole numbers", name, what, kMostSides);
      out.push_back(side.number);
    }
    return out;
  }

  StateDictTensor describe(const std::string& name, const Value& value) {
    StateDictTensor tensor;
    tensor.name = name;
    tensor.type = static_cast<TensorType>(value.number);
    const Value& storage = values_[value.items[0]];
    tensor.storage = values_[storage.items[0]].text;
    tensor.storage_numbers = values_[storage.items[1]].number;
    tensor.offset = values_[value.items[1]].number;
    if (tensor.offset < 0) fail(fmt::format("tensor '{}' begins before its storage", name));
    tensor.shape = sizes(value.items[2], name, "sides");
    tensor.strides = sizes(value.items[3], name, "strides");
    check(tensor.shape.size() == tensor.strides.size(), "tensor '{}' has {} sides but {} strides",
          name, tensor.shape.size(), tensor.strides.size());
    return tensor;
  }

  std::vector<StateDictTensor> collect(Place place) {
    const Value& dictionary = expect(place, Kind::kDictionary, "the file's content");
    std::vector<StateDictTensor> tensors;
    std::set<std::string> names;
    for (size_t i = 0; i < dictionary.items.size(); i += 2) {
      const std::string& name = expect(dictionary.items[i], Kind::kText, "a tensor's name").text;
      const Value& value = values_[dictionary.items[i + 1]];
      check(value.kind == Kind::kTensor, "'{}' is {}, not a tensor", name,
            kKindNames[static_cast<size_t>(value.kind)]);
      // safetensors files keep names as JSON, and __metadata__ for other things.
      const bool can_be_saved =
          name != "__metadata__" && parse_json(dump_json(Json(name), -1), "name") == name;
      if (!can_be_saved) fail("a tensor's name that is not valid UTF-8, or __metadata__");
      if (!names.insert(name).second) fail(fmt::format("tensor '{}' is there twice", name));
      tensors.push_back(describe(name, value));
    }
    return tensors;
  }

  std::string_view in_;
  const std::string& source_;
  size_t at_ = 0, next_ = 0;  // the opcode being run, the next byte
  std::vector<Value> values_;
  std::vector<Place> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint64_t, Place> memo_;
};

const Machine::Function Machine::kFunctions[] = {
    {"collections.OrderedDict",
     [](Machine& m, const Arguments& given) {
       if (!given.empty()) m.fail("an OrderedDict made with arguments");
       m.make(Kind::kDictionary);
     }},
    {"torch.Size",
     [](Machine& m, const Arguments& given) {
       if (given.size() != 1) m.fail("a torch.Size without a shape");
       m.expect(given[0], Kind::kTuple, "a torch.Size");
       m.push(given[0]);
     }},
    {"torch._utils._rebuild_tensor_v2",
     [](Machine& m, const Arguments& given) { m.make_tensor(given, 6); }},
    {"torch._utils._rebuild_tensor",
     [](Machine& m, const Arguments& given) { m.make_tensor(given, 4); }},
    {"torch._utils._rebuild_parameter",
     [](Machine& m, const Arguments& given) {
       if (given.empty()) m.fail("a parameter without a tensor");
       m.expect(given[0], Kind::kTensor, "a parameter's data");
       m.push(given[0]);
     }},
};

void Machine::make_global(const std::string& name) {
  const auto is_named = [&](const auto& row) { return name == row.name; };
  const auto* function = std::find_if(std::begin(kFunctions), std::end(kFunctions), is_named);
  if (function != std::end(kFunctions)) {
    make(Kind::kFunction, function - kFunctions);
    return;
  }
  const auto* storage = std::find_if(std::begin(kStorages), std::end(kStorages), is_named);
  check(storage != std::end(kStorages), "asks for '{}', which is refused; nothing was run", name);
  make(Kind::kStorageType, static_cast<int64_t>(storage->type));
}

const Machine::Opcode Machine::kOpcodes[] = {
    {0x80, "PROTO",
     [](Machine& m) {
       const uint64_t version = m.number(1);
       m.check(version >= 2 && version <= 5, "is of pickle protocol {}, known: 2 to 5", version);
     }},
    {0x95, "FRAME", [](Machine& m) { m.take(8); }},
    {'(', "MARK", [](Machine& m) { m.marks_.push_back(m.stack_.size()); }},
    {'N', "NONE", [](Machine& m) { m.make(Kind::kNone); }},
    {0x88, "NEWTRUE", [](Machine& m) { m.make(Kind::kFlag, 1); }},
    {0x89, "NEWFALSE", [](Machine& m) { m.make(Kind::kFlag, 0); }},
    {'J', "BININT",
     [](Machine& m) { m.make(Kind::kInteger, static_cast<int32_t>(m.number(4))); }},
    {'K', "BININT1",
     [](Machine& m) { m.make(Kind::kInteger, static_cast<int64_t>(m.number(1))); }},
    {'M', "BININT2",
     [](Machine& m) { m.make(Kind::kInteger, static_cast<int64_t>(m.number(2))); }},
    {0x8a, "LONG1", [](Machine& m) { m.make(Kind::kInteger, m.long_integer()); }},
    {'G', "BINFLOAT",
     [](Machine& m) {
       m.take(8);
       m.make(Kind::kReal);
     }},
    {'U', "SHORT_BINSTRING", [](Machine& m) { m.make_text(m.take(m.number(1))); }},
    {0x8c, "SHORT_BINUNICODE", [](Machine& m) { m.make_text(m.take(m.number(1))); }},
    {'T', "BINSTRING", [](Machine& m) { m.make_text(m.take(m.number(4))); }},
    {'X', "BINUNICODE", [](Machine& m) { m.make_text(m.take(m.number(4))); }},
    {0x8d, "BINUNICODE8", [](Machine& m) { m.make_text(m.take(m.number(8))); }},
    {'}', "EMPTY_DICT", [](Machine& m) { m.make(Kind::kDictionary); }},
    {']', "EMPTY_LIST", [](Machine& m) { m.make(Kind::kList); }},
    {')', "EMPTY_TUPLE", [](Machine& m) { m.make(Kind::kTuple); }},
    {'t', "TUPLE", [](Machine& m) { m.make_tuple(m.pop_to_mark()); }},
    {0x85, "TUPLE1", [](Machine& m) { m.make_tuple(m.pop_count(1)); }},
    {0x86, "TUPLE2", [](Machine& m) { m.make_tuple(m.pop_count(2)); }},
    {0x87, "TUPLE3", [](Machine& m) { m.make_tuple(m.pop_count(3)); }},
    {'q', "BINPUT", [](Machine& m) { m.remember(m.number(1)); }},
    {'r', "LONG_BINPUT", [](Machine& m) { m.remember(m.number(4)); }},
    {0x94, "MEMOIZE", [](Machine& m) { m.remember(m.memo_.size()); }},
    {'h', "BINGET", [](Machine& m) { m.recall(m.number(1)); }},
    {'j', "LONG_BINGET", [](Machine& m) { m.recall(m.number(4)); }},
    {'s', "SETITEM", [](Machine& m) { m.append_to(Kind::kDictionary, m.pop_count(2)); }},
    {'u', "SETITEMS", [](Machine& m) { m.append_to(Kind::kDictionary, m.pop_to_mark()); }},
    {'a', "APPEND", [](Machine& m) { m.append_to(Kind::kList, m.pop_count(1)); }},
    {'e', "APPENDS", [](Machine& m) { m.append_to(Kind::kList, m.pop_to_mark()); }},
    {'c', "GLOBAL",
     [](Machine& m) {
       const std::string module(m.line());
       m.make_global(module + "." + std::string(m.line()));
     }},
    {0x93, "STACK_GLOBAL", [](Machine& m) { m.make_named_global(); }},
    {'Q', "BINPERSID", [](Machine& m) { m.make_storage(); }},
    {'R', "REDUCE", [](Machine& m) { m.call(); }},
    // Attributes given to a dictionary are not kept; other objects have none.
    {'b', "BUILD",
     [](Machine& m) {
       m.expect(m.pop(), Kind::kDictionary, "attributes");
       m.top(Kind::kDictionary);
     }},
    {'i', "INST", nullptr},       {'o', "OBJ", nullptr},
    {0x81, "NEWOBJ", nullptr},    {0x92, "NEWOBJ_EX", nullptr},
    {'P', "PERSID", nullptr},     {0x82, "EXT1", nullptr},
    {0x83, "EXT2", nullptr},      {0x84, "EXT4", nullptr},
    {'I', "INT", nullptr},        {'L', "LONG", nullptr},
    {'S', "STRING", nullptr},     {'V', "UNICODE", nullptr},
    {'B', "BINBYTES", nullptr},   {'C', "SHORT_BINBYTES", nullptr},
    {0x8e, "BINBYTES8", nullptr}, {'0', "POP", nullptr},
    {'1', "POP_MARK", nullptr},   {'2', "DUP", nullptr},
    {'d', "DICT", nullptr},       {'l', "LIST", nullptr},
    {'p', "PUT", nullptr},        {'g', "GET", nullptr},
    {'F', "FLOAT", nullptr},      {0x8b, "LONG4", nullptr},
    {0x8f, "EMPTY_SET", nullptr}, {0x90, "ADDITEMS", nullptr},
    {0x91, "FROZENSET", nullptr},
};

bool Machine::step() {
  at_ = next_;
  const auto code = static_cast<uint8_t>(number(1));
  if (code == '.') return false;  // STOP
  const auto* row = std::find_if(std::begin(kOpcodes), std::end(kOpcodes),
                                 [&](const Opcode& known) { return known.code == code; });
  const bool is_known = row != std::end(kOpcodes);
  check(is_known && row->run != nullptr,
        "uses the opcode 0x{:02x}{}, which is refused; nothing was run", code,
        is_known ? fmt::format(" ({})", row->name) : "");
  row->run(*this);
  return true;
}

}  // namespace

std::vector<StateDictTensor> read_state_dict(std::string_view pickle, const std::string& source) {
  SIMILE_CHECK(pickle.size() <= kLongestPickle, ErrorKind::kInput,
               "{}: data.pkl has {} bytes; at most {} are accepted", source, pickle.size(),
               kLongestPickle);
  return Machine(pickle, source).run();
}

}  // namespace simile::detail
