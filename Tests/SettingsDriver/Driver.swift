import BothySettings
import BothyStore
import Dispatch
import Foundation
import Synchronization

/// The driver's commands.
struct Driver {
  let home: SettingsContainer
  let settings: SharedSettings<LocaleSettings>

  init(path: String) {
    home = SettingsContainer(at: path)
    settings = SharedSettings(in: home)
  }

  func first(count: Int) async throws {
    let found = await withTaskGroup(of: LocaleSettings.self) { group in
      for _ in 0..<count { group.addTask { settings.current } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    if let problem = settings.problem { throw problem }
    say(["equal": .bool(found.allSatisfy { $0 == LocaleSettings() }), "count": .int(Int64(found.count))])
  }

  func get(version: Int) throws {
    var members: [String: JSONValue] = [:]
    if version == 2 {
      let settings = SharedSettings<LocaleSettings2>(in: home)
      members = json(settings.current)
      members["problem"] = settings.problem.map { .string(String(reflecting: $0)) } ?? .null
    } else {
      members = json(settings.current)
      members["problem"] = settings.problem.map { .string(String(reflecting: $0)) } ?? .null
    }
    say(members)
  }

  func set(_ key: String, _ value: String) throws {
    try settings.update { settings in
      switch key {
      case "languageLocale": settings.languageLocale = value
      case "timeFormat": settings.timeFormat = value
      case "left": settings.left = Int(value) ?? 0
      default: throw Failure("no such key")
      }
    }
    say(["at": now])
  }

  func nested() throws {
    try settings.update { settings in
      settings.left += 1
      try self.settings.update { $0.right += 1 }
    }
  }

  /// Commits a change. Tries again while others keep the file locked, because the lock has no order for those who wait.
  @discardableResult
  func update(_ change: (inout LocaleSettings) throws -> Void) throws -> LocaleSettings {
    for _ in 0..<20 {
      do { return try settings.update(change) } catch let error as BothyError where error.code == .busy {
        continue
      }
    }
    return try settings.update(change)
  }

  func pairs(count: Int) throws {
    for _ in 0..<count {
      let new = try update { settings in
        settings.left += 1
        settings.right = settings.left
      }
      say(["pair": .int(Int64(new.left))])
    }
  }

  /// Reads pairs while other processes write them.
  func read(seconds: Double) async throws {
    _ = settings.current
    let end = Date().addingTimeInterval(seconds)
    let last = Date().addingTimeInterval(100)
    let (reads, torn) = await withTaskGroup(of: (Int, Int).self) { group in
      for _ in 0..<8 {
        group.addTask {
          var (reads, torn) = (0, 0)
          // On a busy machine the readings take longer, and the first commit comes late.
          while Date() < end || Date() < last && (reads < 15_000 || settings.current.left == 0) {
            for _ in 0..<1000 {
              let value = settings.current
              if value.left != value.right { torn += 1 }
            }
            reads += 1000
          }
          return (reads, torn)
        }
      }
      return await group.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
    }
    say(["reads": .int(Int64(reads)), "torn": .int(Int64(torn)), "seen": .int(Int64(settings.current.left))])
  }

  /// Counts the read calls that the process makes to the system, by `/proc/self/io`.
  func quiet(count: Int) throws {
    func calls() throws -> Int {
      let account = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
      let line = account.split(separator: "\n").first { $0.hasPrefix("syscr: ") }
      guard let calls = line.flatMap({ Int($0.dropFirst(7)) }) else { throw Failure("no account of reads") }
      return calls
    }
    let counted = settings.current.left
    let costOfAsking = try -calls() + calls()
    var sum = 0
    // Other threads of the process may still be starting, so the round with the fewest calls counts.
    let rounds = try (0..<5).map { _ in
      let before = try calls()
      for _ in 0..<count { sum += settings.current.left - counted }
      return try calls() - before - costOfAsking
    }
    say(["reads": .int(Int64(rounds.min() ?? -1)), "changed": .int(Int64(sum))])
  }

  func watch() async {
    let changes = settings.changes
    // The end of standard input ends the process.
    Thread.detachNewThread {
      while let line = readLine() {
        if line == "quit" { break }
        do { try settings.update { $0.left += 1 } } catch { say(["error": .string("\(error)")]) }
      }
      exit(0)
    }
    say(["ready": .bool(true)])
    for await change in changes {
      say([
        "at": now, "origin": .string(change.origin.rawValue), "old": .object(json(change.old)),
        "new": .object(json(change.new)), "keys": .array(change.changedKeys.sorted().map { .string($0) }),
      ])
    }
  }
}

/// The settings by name.
func json(_ group: some SettingsGroup) -> [String: JSONValue] {
  var members: [String: JSONValue] = [:]
  for child in Mirror(reflecting: group).children {
    switch (child.label, child.value) {
    case (let name?, let text as String): members[name] = .string(text)
    case (let name?, let number as Int): members[name] = .int(Int64(number))
    default: continue
    }
  }
  return members
}
