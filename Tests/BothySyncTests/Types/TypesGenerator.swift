import BothyTesting

/// Makes the history of a seed. Equal seeds give equal histories.
///
/// It estimates which device has which records, so that most steps find a record to act on.
struct TypesGenerator {
  private var random: SeededGenerator
  private var count = 2
  private var texts = 0
  private var follows = false
  /// The number of syncs in a hundred steps.
  private var talk = 17
  private var decisions: [TypesHistory.Decision] = [.revert, .retry, .keepLocal, .removeLocal]
  /// The records that each device should have, those that it had after its last sync, and those that it has read.
  private var known: [[TypesName]] = []
  private var heard: [[TypesName]] = []
  private var read: [[TypesName]] = []
  /// The records that the server should have.
  private var server: [TypesName] = []
  /// The record that each device changed last, so that changes of one record are stacked.
  private var last: [Int: TypesName] = [:]
  /// The record that any device changed last, so that changes of several devices collide.
  private var disputed: TypesName?

  static func history(seed: UInt64) -> TypesHistory {
    var generator = Self(random: SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 11))
    return generator.make(seed)
  }

  private init(random: SeededGenerator) { self.random = random }

  private mutating func make(_ seed: UInt64) -> TypesHistory {
    count = random.chance(70) ? 2 : 3
    known = Array(repeating: [], count: count)
    heard = known
    read = known
    follows = random.chance(33)
    talk = number(6...24)
    let isEnforced = random.chance(50)
    let isWayward = random.chance(45)
    if isWayward { decisions = [.revert, .retry, .retry, .removeLocal] }
    let devices = (0..<count).map { _ in device(isWayward) }
    let first = random.chance(65) ? beginning() : []
    let steps = (0..<number(24...48)).map { _ in step() }
    return TypesHistory(seed: seed, isEnforced: isEnforced, devices: devices, steps: first + steps)
  }

  /// Records that all devices have from the start.
  private mutating func beginning() -> [TypesHistory.Step] {
    var steps: [TypesHistory.Step] = []
    for kind in TypesKind.allCases + [.memo, .line] { steps.append(.write(0, insertion(0, kind))) }
    for device in 0..<count {
      _ = synced(device)
      steps.append(.sync(device, []))
    }
    return steps
  }

  private mutating func device(_ isWayward: Bool) -> TypesHistory.Device {
    let policies = TypesHistory.Policy.allCases.filter { $0 != .wayward }
    return TypesHistory.Device(
      policy: isWayward && random.chance(70) ? .wayward : pick(policies),
      refusals: pick(TypesHistory.Refusals.allCases), batch: pick([2, 3, 500]), page: pick([2, 1000]))
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...values.count - 1)] }

  private mutating func text() -> TypesValue {
    texts += 1
    return .text("t\(texts)")
  }

  // MARK: records

  private mutating func kind() -> TypesKind { pick([.tag, .memo, .memo, .memo, .line]) }

  /// Returns a record that the device may have, often one that it or another device has just changed.
  private mutating func name(_ device: Int) -> TypesName {
    let recent = random.chance(60) ? last[device] : disputed
    if let recent, known[device].contains(recent), random.chance(60) { return recent }
    let name = another(device)
    last[device] = name
    disputed = name
    return name
  }

  private mutating func another(_ device: Int) -> TypesName {
    let kind = kind()
    let shared = known[device].filter { $0.kind == kind && server.contains($0) }
    if !shared.isEmpty && random.chance(75) { return pick(shared) }
    let names = known[device].filter { $0.kind == kind }
    return names.isEmpty ? made(device, kind) : pick(names)
  }

  /// Returns a name for a new record, often one that no other device uses.
  private mutating func made(_ device: Int, _ kind: TypesKind) -> TypesName {
    let number = random.chance(33) ? number(0...2) : 3 + device * 4 + number(0...3)
    return TypesName(rawValue: "\(kind.rawValue)\(number)")
  }

  private mutating func content(_ kind: TypesKind, _ device: Int, isWhole: Bool) -> [String: TypesValue] {
    switch kind {
    case .tag: return ["name": text()]
    case .memo: return memo(device, isWhole: isWhole)
    case .line:
      var content = ["text": text()]
      let memos = known[device].filter { $0.kind == .memo }
      if !memos.isEmpty && (isWhole || random.chance(25)) { content["memo"] = .one(pick(memos)) }
      return content
    }
  }

  private mutating func memo(_ device: Int, isWhole: Bool) -> [String: TypesValue] {
    let tags = known[device].filter { $0.kind == .tag }
    var content: [String: TypesValue] = [:]
    if isWhole || random.chance(50) { content["title"] = text() }
    if random.chance(50) { content["note"] = random.chance(25) ? .empty : text() }
    if random.chance(50) { content["count"] = .count(number(0...8)) }
    if random.chance(33) { content["tag"] = tags.isEmpty || random.chance(25) ? .empty : .one(pick(tags)) }
    if random.chance(33) { content["tags"] = .all(Array(tags.shuffled(using: &random).prefix(2))) }
    return content.isEmpty ? ["title": text()] : content
  }

  private mutating func act(_ device: Int) -> TypesHistory.Act {
    let name = name(device)
    switch number(0...9) {
    case 0: return insertion(device, kind())
    case 1 where known[device].count < 8: return insertion(device, kind())
    case 1..<7:
      return .init(what: .update, record: name, content: content(name.kind, device, isWhole: false))
    case 7:
      known[device].removeAll { $0 == name }
      return .init(what: .delete, record: name)
    case 8: return .init(what: .move, record: name, place: pick(["x", "y", nil]))
    default:
      guard !read[device].isEmpty else { return insertion(device, kind()) }
      let old = pick(read[device])
      return .init(what: .saveOld, record: old, content: content(old.kind, device, isWhole: false))
    }
  }

  private mutating func insertion(_ device: Int, _ kind: TypesKind) -> TypesHistory.Act {
    let name = made(device, kind)
    if !known[device].contains(name) { known[device].append(name) }
    last[device] = name
    return .init(
      what: .insert, record: name, content: content(kind, device, isWhole: true),
      place: pick([nil, nil, "x", "y"]))
  }

  // MARK: steps

  private mutating func step() -> TypesHistory.Step {
    let device = number(0...count - 1)
    if random.chance(talk) { return .sync(device, synced(device)) }
    switch number(0...28) {
    case 0..<9: return .write(device, act(device))
    case 9..<14: return .atomic(device, (0..<number(2...3)).map { _ in act(device) })
    case 14..<21: return decision(device)
    case 21..<25: return online(device)
    default: return upkeep(device)
    }
  }

  /// Updates the estimate: the device and the server exchange their records. Returns the faults of the sync.
  private mutating func synced(_ device: Int) -> [TypesHistory.Fault] {
    let before = heard[device]
    server.removeAll { before.contains($0) && !known[device].contains($0) }
    server += known[device].filter { !before.contains($0) && !server.contains($0) }
    known[device] = server
    heard[device] = server
    return faults(60)
  }

  private mutating func faults(_ percent: Int) -> [TypesHistory.Fault] {
    guard random.chance(percent) else { return [] }
    return (0..<number(1...4)).map { _ in
      random.chance(50) ? .none : pick([.lostRequest, .lostAnswer, .lostAnswer, .duplicated, .late])
    }
  }

  private mutating func decision(_ device: Int) -> TypesHistory.Step {
    switch number(0...6) {
    case 0: return .purge(device, name(device), pending: random.chance(50))
    case 1, 2: return .decide(device, number(0...9), pick(decisions))
    case 3: return .restore(device, number(0...9))
    case 4: return .draft(device, act(device))
    case 5: return .release(device)
    default:
      let name = name(device)
      read[device].append(name)
      return .read(device, name)
    }
  }

  private mutating func online(_ device: Int) -> TypesHistory.Step {
    let name = name(device)
    let content = content(name.kind, device, isWhole: false)
    switch number(0...3) {
    case 0: return .online(device, name, content, only: random.chance(50), faults(33))
    case 1: return .save(device, name, content)
    case 2: return .share(device, name, with: pick(["ann", "bob", "cid"]))
    default:
      let user = pick(["ann", "bob", "cid"])
      return random.chance(50)
        ? .unshare(device, name, from: user) : .share(device, name, with: user)
    }
  }

  private mutating func upkeep(_ device: Int) -> TypesHistory.Step {
    switch number(0...4) {
    case 0: return .restart(device)
    case 1: return .crash(device, at: number(1...6))
    case 2: return .repair(device)
    case 3 where follows: return .follow(device, random.chance(50) ? [""] : ["x", "Memo", "Tag"])
    default: return .fetch(device, kind())
    }
  }
}
