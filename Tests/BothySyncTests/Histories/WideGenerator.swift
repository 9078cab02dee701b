import BothyTesting

/// The generator of the history of a seed. Equal seeds and features give equal histories.
struct WideGenerator {
  private var random: SeededGenerator
  private let features: Set<WideFeature>
  private var count = 3
  private var isThrowing = false
  /// True if people attach many files. Elsewhere they attach none, so that those histories stay cheap.
  private var attaches = false
  /// True if the server has begun another history, about which devices decide.
  private var isOther = false

  init(seed: UInt64, features: Set<WideFeature>) {
    random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 7)
    self.features = features
  }

  static func history(seed: UInt64, features: Set<WideFeature>) -> WideHistory {
    var generator = Self(seed: seed, features: features)
    return generator.make(seed)
  }

  private mutating func make(_ seed: UInt64) -> WideHistory {
    count = number(3...4)
    let isMixed = has(.mixed) && random.chance(40)
    let common = pick(WideHistory.Policy.allCases)
    let policy: WideHistory.Policy = random.chance(50) ? .fieldByField : common
    let devices = (0..<count).map { index in
      WideHistory.Device(
        policy: allowed(isMixed ? pick(WideHistory.Policy.allCases) : policy),
        refusals: has(.refusals) ? pick(WideHistory.Refusals.allCases) : .keep,
        batch: number(1...6), page: number(1...6),
        skew: index == 0 ? 0 : Int64(number(-86_400_000...86_400_000)),
        scopes: has(.scopes) && random.chance(25) ? scopes() : [""])
    }
    attaches = has(.blobs) && random.chance(40)
    isThrowing = devices.contains { $0.policy == .throwing }
    var steps: [WideHistory.Step] = []
    for _ in 0..<number(12...36) { steps.append(step()) }
    return WideHistory(seed: seed, devices: devices, steps: steps)
  }

  private func has(_ feature: WideFeature) -> Bool { features.contains(feature) }

  private func allowed(_ policy: WideHistory.Policy) -> WideHistory.Policy {
    policy == .throwing && !has(.throwing) ? .fieldByField : policy
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...values.count - 1)] }

  private mutating func scopes() -> [String] {
    pick([["Sheet"], ["box"], ["Sheet", "box/1"], ["box/1"], ["Sheet", "box"], [""]])
  }

  private mutating func device() -> Int { number(0...count - 1) }

  private mutating func act() -> WideHistory.Act {
    var kinds: [WideHistory.What] = [
      .create, .create, .title, .title, .note, .note, .clear, .pen, .late, .own, .own, .count, .count,
      .delete, .remake,
    ]
    if has(.moves) { kinds += [.move, .move] }
    if attaches { kinds += [WideHistory.What](repeating: .attach, count: 8) + [.detach, .detach, .detach] }
    return WideHistory.Act(
      what: pick(kinds), record: number(0...5), place: has(.moves) || has(.scopes) ? number(0...2) : 0)
  }

  private mutating func faults() -> [WideHistory.Fault] {
    guard has(.faults), random.chance(55) else { return [] }
    var kinds: [WideHistory.Fault] = [
      .none, .none, .lostRequest, .lostAnswer, .lostAnswer, .duplicated, .busy, .broken,
    ]
    if has(.late) { kinds.append(.late) }
    return (0..<number(1...3)).map { _ in pick(kinds) }
  }

  private mutating func step() -> WideHistory.Step {
    let device = device()
    if isThrowing && random.chance(10) { return .policyFails(device, random.chance(70)) }
    if attaches && random.chance(16) {
      return random.chance(50) ? .evict(device, faults()) : .download(device, number(0...9), faults())
    }
    if isOther && has(.adoptions) && random.chance(16) { return adopt(device) }
    switch number(0...99) {
    case 0..<30: return .write(device, act())
    case 30..<54: return sync(device)
    case 54..<61:
      return has(.atomic) ? .atomic(device, (0..<number(2...3)).map { _ in act() }) : sync(device)
    case 61..<71: return online(device)
    default: return seldom(device)
    }
  }

  private mutating func sync(_ device: Int) -> WideHistory.Step {
    let way: WideHistory.SyncScopeName = has(.oneWay) && random.chance(25) ? pick([.push, .pull]) : .both
    let during = has(.busyWrites) && random.chance(25) ? act() : nil
    return .sync(device, way, faults(), during: during)
  }

  private mutating func online(_ device: Int) -> WideHistory.Step {
    guard has(.online) else { return sync(device) }
    return .online(device, act(), only: has(.onlineOnly) && random.chance(25), faults())
  }

  private mutating func seldom(_ device: Int) -> WideHistory.Step {
    var choices: [(WideFeature?, WideHistory.Step)] = [
      (nil, .restart(device)), (.drafts, .draft(device, act())), (.drafts, .release(device)),
      (.queries, .query(device, pick([.remote, .syncThenLocal, .limited]), faults())),
      (.refreshes, .refresh(device, faults())), (.live, .live(device, number(0...99))),
      (.purges, .purge(device, record: number(0...5), pending: has(.forcedPurges) && random.chance(40))),
      (.purges, .purge(device, record: number(0...5), pending: has(.forcedPurges) && random.chance(40))),
      (.decisions, .decide(device, number(0...9), decision())), (.compaction, .compact), (.epochs, .epoch),
      (.refusals, .refuse(random.chance(70))), (.refusals, .refuse(random.chance(70))),
      (.throwing, .policyFails(device, random.chance(70))),
      (.throwing, .policyFails(device, random.chance(70))),
      (.decisions, .decide(device, number(0...9), decision())),
      (.restores, .restore(device, number(0...99))), (.restores, .restore(device, number(0...99))),
      (.processes, .beside(device, act(), syncs: random.chance(60), faults())),
      (.processes, .beside(device, act(), syncs: random.chance(60), faults())),
      (.exports, .export(device, again: random.chance(30))), (.exports, .export(device, again: false)),
      (.adoptions, adopt(device)),
      // Each transaction begins, is written and is committed. The third step is excluded, since its result is never
      // reported.
      (.kills, .kill(device, at: number(0...4) * 3 + number(1...2), faults())),
      (.untoldKills, .killUntold(device, at: number(1...14), faults())),
    ]
    if has(.scopes) { choices.append((.scopes, .follow(device, scopes()))) }
    let (feature, step) = pick(choices)
    guard feature.map(has) ?? true else { return sync(device) }
    isOther = isOther || step == .epoch
    return step
  }

  private mutating func adopt(_ device: Int) -> WideHistory.Step {
    .adopt(device, pick([.adoptServer, .uploadMine, .uploadMine, .keepApart]), faults())
  }

  private mutating func decision() -> WideHistory.Decision {
    has(.keepLocal) ? pick(WideHistory.Decision.allCases) : pick([.retry, .revert, .removeLocal])
  }
}
