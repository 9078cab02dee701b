import BothyTesting
import Foundation

/// A history of devices that share records of several types, as a value.
///
/// A seed makes it, a failure shrinks it, and a line of text replays it. A step names its records, and is skipped if it
/// finds no record to act on. So a step that is removed leaves the others unchanged.
struct TypesHistory: Codable, Sendable, Equatable {
  var seed: UInt64
  /// True if the server knows the types and rejects changes that break their rules.
  var isEnforced = true
  var devices: [Device]
  var steps: [Step]

  struct Device: Codable, Sendable, Equatable {
    var policy: Policy
    var refusals = Refusals.keep
    var batch = 500
    var page = 1000
  }

  /// The merge policies, and one of the app's own that decides at random and sometimes throws.
  enum Policy: String, Codable, Sendable, CaseIterable {
    case fieldByField, remoteWins, localWins, latestWins, wayward
  }

  enum Refusals: String, Codable, Sendable, CaseIterable { case keep, quarantine, discard }

  /// The fault of one request.
  enum Fault: String, Codable, Sendable, CaseIterable { case none, lostRequest, lostAnswer, duplicated, late }

  /// A user's change of one record in a transaction.
  struct Act: Codable, Sendable, Equatable {
    var what: What
    var record: TypesName
    var content: [String: TypesValue] = [:]
    /// The container for insertions and moves. Nil is the type's own.
    var place: String?
  }

  enum What: String, Codable, Sendable, CaseIterable {
    case insert, update, delete, move
    /// Saves a value that was read at an earlier `read`.
    case saveOld
  }

  enum Step: Codable, Sendable, Equatable {
    /// Writes on the device, for a later sync to send.
    case write(Int, Act)
    case atomic(Int, [Act])
    case draft(Int, Act)
    case release(Int)
    /// Reads a record and stores the value for a later `saveOld`.
    case read(Int, TypesName)
    /// Saves on the device and stores the receipt.
    case save(Int, TypesName, [String: TypesValue])
    /// Saves on the server first and stores the receipt. `only` stores no record here.
    case online(Int, TypesName, [String: TypesValue], only: Bool, [Fault])
    case share(Int, TypesName, with: String)
    case unshare(Int, TypesName, from: String)
    case purge(Int, TypesName, pending: Bool)
    /// Decides about one of the pending changes.
    case decide(Int, Int, Decision)
    /// Restores one of the contents that the journal lists as lost.
    case restore(Int, Int)
    case sync(Int, [Fault])
    case restart(Int)
    /// Ends the process in the middle of a sync, at a step of its storage.
    case crash(Int, at: Int)
    /// Subscribes to the containers. An empty name subscribes to all.
    case follow(Int, [String])
    case repair(Int)
    /// Reads all records of a type from the server.
    case fetch(Int, TypesKind)
  }

  enum Decision: String, Codable, Sendable, CaseIterable { case retry, revert, keepLocal, removeLocal }
}

extension TypesHistory {
  /// The history in one line, for `BOTHY_TYPES_HISTORY`.
  var line: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  init(line: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(line.utf8)) }

  /// The events that must happen in some history of sixty, so that every kind of step has an effect.
  static let situations =
    What.allCases.map(\.rawValue) + Decision.allCases.map { "decision \($0.rawValue)" }
    + Fault.allCases.filter { $0 != .none }.map { "fault \($0.rawValue)" } + [
      "together", "draft", "release", "read", "save", "online", "onlineOnly", "share", "unshare", "purge",
      "forced purge", "restore", "sync", "restart", "crash", "follow", "repair", "fetch", "overwritten",
      "refused by the rules", "failure mergeFailed",
    ]
}

extension TypesHistory.Fault {
  var fault: FaultyRemote.Fault {
    switch self {
    case .none: .none
    case .lostRequest: .lostRequest
    case .lostAnswer: .lostAnswer
    case .duplicated: .duplicated
    case .late: .late
    }
  }
}
