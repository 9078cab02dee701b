/// The reduction of a failing history, as long as it fails in the same way.
enum WideShrinker {
  /// Returns the problems of a history, in which a thrown error counts too.
  static func problems(
    of history: WideHistory, telling happened: ([String: Int]) -> Void = { _ in }
  ) async -> [String] {
    do {
      let runner = try await WideRunner(history, isLogged: false)
      let problems = try await runner.run()
      happened(runner.happened)
      return problems
    } catch { return ["It threw \(error)"] }
  }

  /// Returns the first words of the first problem, or `nil`.
  private static func way(of history: WideHistory) async -> String? {
    await problems(of: history).first.map { problem in
      let words = problem.prefix { $0 != ":" }.split(separator: " ")
      return words.dropFirst(problem.hasPrefix("device") ? 1 : 0).prefix(2).joined(separator: " ")
    }
  }

  static func shrink(_ history: WideHistory, budget: Int = 250) async -> WideHistory {
    guard let way = await way(of: history) else { return history }
    var best = history
    var left = budget
    var size = max(1, best.steps.count / 2)
    while size >= 1 && left > 0 {
      var start = 0
      var isSmaller = false
      while start < best.steps.count && left > 0 {
        var candidate = best
        candidate.steps.removeSubrange(start..<min(start + size, best.steps.count))
        left -= 1
        if await self.way(of: candidate) == way {
          best = candidate
          isSmaller = true
        } else {
          start += size
        }
      }
      if size == 1 && !isSmaller { break }
      size = max(1, size / 2)
    }
    for index in best.steps.indices where left > 0 {
      for simpler in best.steps[index].simpler {
        var candidate = best
        candidate.steps[index] = simpler
        left -= 1
        if await self.way(of: candidate) == way { best = candidate }
      }
    }
    return best
  }
}

extension WideHistory.Step {
  /// The simpler variants of the step.
  var simpler: [Self] {
    switch self {
    case .sync(let device, let way, let faults, let during):
      var steps: [Self] = []
      if during != nil { steps.append(.sync(device, way, faults, during: nil)) }
      if !faults.isEmpty { steps.append(.sync(device, way, [], during: nil)) }
      if way != .both { steps.append(.sync(device, .both, faults, during: during)) }
      return steps
    case .online(let device, let act, let only, let faults):
      return faults.isEmpty ? [] : [.online(device, act, only: only, [])]
    case .atomic(let device, let acts): return acts.map { .write(device, $0) }
    case .kill(let device, _, let faults), .killUntold(let device, _, let faults):
      return [.restart(device), .sync(device, .both, faults, during: nil)]
    case .query(let device, _, _): return [.sync(device, .both, [], during: nil)]
    case .export(let device, let again):
      return (again ? [.export(device, again: false)] : []) + [.restart(device)]
    case .adopt(let device, let way, let faults):
      let steps: [Self] = faults.isEmpty ? [] : [.adopt(device, way, [])]
      return steps + [.sync(device, .both, faults, during: nil)]
    case .evict(let device, let faults): return faults.isEmpty ? [] : [.evict(device, [])]
    case .download(let device, let number, let faults):
      return faults.isEmpty ? [] : [.download(device, number, [])]
    default: return []
    }
  }
}
