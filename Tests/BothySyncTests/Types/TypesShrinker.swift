/// Makes a history that fails smaller, as long as it fails in the same way.
struct TypesShrinker {
  /// Runs a history and returns the problems.
  typealias Play = (TypesHistory) async -> [TypesProblem]

  private let play: Play
  private let way: TypesProblem.Kind
  private var best: TypesHistory
  /// The number of histories that may still run.
  private var left: Int

  /// Returns the problems of a history. A thrown error is a problem too.
  static func problems(
    of history: TypesHistory, telling happened: ([String: Int]) -> Void = { _ in }
  ) async -> [TypesProblem] {
    do {
      let runner = try TypesRunner(history)
      let problems = try await runner.run()
      happened(runner.happened)
      return problems
    } catch { return [TypesProblem(kind: .threw, text: "\(error)")] }
  }

  static func shrink(
    _ history: TypesHistory, budget: Int = 250, play: @escaping Play = { await problems(of: $0) }
  ) async -> TypesHistory {
    guard let way = await play(history).first?.kind else { return history }
    var shrinker = Self(play: play, way: way, best: history, left: budget)
    await shrinker.takeStepsAway()
    await shrinker.simplifySteps()
    await shrinker.simplifyDevices()
    await shrinker.takeStepsAway()
    return shrinker.best
  }

  /// Accepts a candidate that fails like the history. Returns true if it does.
  private mutating func take(_ candidate: TypesHistory) async -> Bool {
    guard left > 0 else { return false }
    left -= 1
    guard await play(candidate).first?.kind == way else { return false }
    best = candidate
    return true
  }

  private mutating func takeStepsAway() async {
    var size = max(1, best.steps.count / 2)
    while left > 0 {
      var start = 0
      var isSmaller = false
      while start < best.steps.count && left > 0 {
        var candidate = best
        candidate.steps.removeSubrange(start..<min(start + size, best.steps.count))
        if await take(candidate) { isSmaller = true } else { start += size }
      }
      if size == 1 && !isSmaller { break }
      size = max(1, size / 2)
    }
  }

  private mutating func simplifySteps() async {
    for index in best.steps.indices {
      var isSimpler = true
      while isSimpler && left > 0 {
        isSimpler = false
        for simpler in best.steps[index].simpler where !isSimpler {
          var candidate = best
          candidate.steps[index] = simpler
          isSimpler = await take(candidate)
        }
      }
    }
  }

  private mutating func simplifyDevices() async {
    for index in best.devices.indices {
      for simpler in best.devices[index].simpler {
        var candidate = best
        candidate.devices[index] = simpler
        _ = await take(candidate)
      }
    }
    guard best.isEnforced else { return }
    var candidate = best
    candidate.isEnforced = false
    _ = await take(candidate)
  }
}

extension TypesHistory.Device {
  /// The device with all default settings, and with some of them.
  fileprivate var simpler: [Self] {
    var usual = self
    usual.batch = 500
    usual.page = 1000
    var keeping = usual
    keeping.refusals = .keep
    var merging = keeping
    merging.policy = .fieldByField
    return [usual, keeping, merging].filter { $0 != self }
  }
}

extension TypesHistory.Step {
  /// Variants of the step with less in it.
  fileprivate var simpler: [Self] {
    switch self {
    case .write(let device, let act): return act.simpler.map { .write(device, $0) }
    case .draft(let device, let act):
      return [.write(device, act)] + act.simpler.map { .draft(device, $0) }
    case .atomic(let device, let acts): return Self.simpler(device, acts)
    case .save(let device, let name, let content):
      return content.simpler.map { .save(device, name, $0) }
    case .online(let device, let name, let content, let only, let faults):
      let fewer: [Self] = faults.isEmpty ? [] : [.online(device, name, content, only: only, [])]
      return fewer + content.simpler.map { .online(device, name, $0, only: only, faults) }
    case .sync(let device, let faults): return faults.isEmpty ? [] : [.sync(device, [])]
    case .crash(let device, _): return [.restart(device), .sync(device, [])]
    default: return []
    }
  }

  /// Returns the transaction without one of its acts, or with a simpler one.
  private static func simpler(_ device: Int, _ acts: [TypesHistory.Act]) -> [Self] {
    var steps: [Self] = acts.count == 1 ? acts.map { .write(device, $0) } : []
    for index in acts.indices {
      var fewer = acts
      let act = fewer.remove(at: index)
      if !fewer.isEmpty { steps.append(.atomic(device, fewer)) }
      for simpler in act.simpler {
        fewer = acts
        fewer[index] = simpler
        steps.append(.atomic(device, fewer))
      }
    }
    return steps
  }
}

extension TypesHistory.Act {
  /// The act with fewer fields, or in its type's own container.
  fileprivate var simpler: [Self] {
    var acts: [Self] = []
    if place != nil && what == .insert {
      acts.append(Self(what: what, record: record, content: content))
    }
    return acts + content.simpler.map { Self(what: what, record: record, content: $0, place: place) }
  }
}

extension [String: TypesValue] {
  /// The content without one of its fields; texts that a record must have stay.
  fileprivate var simpler: [Self] {
    guard count > 1 else { return [] }
    return keys.sorted().filter { !["name", "title", "text", "memo"].contains($0) }.map { field in
      filter { $0.key != field }
    }
  }
}
