import BothySync
import BothyTesting
import Foundation

/// One history of several devices and their server, as a value that a seed creates, a failure shrinks and a line of
/// text replays.
struct WideHistory: Codable, Sendable, Equatable {
  var seed: UInt64
  var devices: [Device]
  var steps: [Step]

  struct Device: Codable, Sendable, Equatable {
    var policy: Policy
    var refusals = Refusals.keep
    var batch = 500
    var page = 1000
    /// The error of its clock, in milliseconds.
    var skew: Int64 = 0
    /// The containers that it follows, each with those below. The empty path means all containers.
    var scopes = [""]
  }

  /// The merge policies, and one of the app's own that merges by fields and sometimes throws.
  enum Policy: String, Codable, Sendable, CaseIterable {
    case fieldByField, remoteWins, localWins, changedFields, latestWins, throwing

    /// True if each field is merged by itself.
    var isByField: Bool { self == .fieldByField || self == .throwing }
    /// True if the record here may replace the server's as a whole.
    var mayReplaceAll: Bool { self == .localWins || self == .latestWins }

    /// True if a text here may replace a text on the server that wasn't seen here.
    func mayReplace(_ field: String) -> Bool {
      mayReplaceAll || self == .changedFields || isByField && (field == "pen" || field == "late")
    }
  }

  enum Refusals: String, Codable, Sendable, CaseIterable { case keep, quarantine, discard }

  /// The fate of one request.
  enum Fault: String, Codable, Sendable, CaseIterable {
    case none, lostRequest, lostAnswer, duplicated, late, busy, broken
  }

  /// A person's change of one record.
  struct Act: Codable, Sendable, Equatable {
    var what: What
    var record: Int
    /// The container, for creations and moves.
    var place = 0
  }

  enum What: String, Codable, Sendable, CaseIterable {
    case create, title, note, clear, pen, late, own, count, move, delete, remake
    /// Stores bytes and names them in the record, or removes the name.
    case attach, detach
  }

  static let places = ["Sheet", "box/1", "box/2"]

  enum Step: Codable, Sendable, Equatable {
    /// Writes here, for a later sync to send.
    case write(Int, Act)
    case atomic(Int, [Act])
    case draft(Int, Act)
    case release(Int)
    /// Writes on the server first; `only` stores nothing here.
    case online(Int, Act, only: Bool, [Fault])
    /// Writes again during the sync, when the server has responded and the device hasn't received the response.
    case sync(Int, SyncScopeName, [Fault], during: Act?)
    case query(Int, QueryWay, [Fault])
    case refresh(Int, [Fault])
    /// Applies a change that the server once made, outside of a sync.
    case live(Int, Int)
    case purge(Int, record: Int, pending: Bool)
    case decide(Int, Int, Decision)
    /// Restores content that the journal has as lost.
    case restore(Int, Int)
    /// Writes in another process of the app, which then syncs or doesn't.
    case beside(Int, Act, syncs: Bool, [Fault])
    /// Signs out with an export of what is pending, and takes the document in with a new file: once, or `again`.
    case export(Int, again: Bool)
    /// Decides about the history of the server, whether or not it is another one by now.
    case adopt(Int, Adoption, [Fault])
    /// Deletes the bytes of files here that the server has.
    case evict(Int, [Fault])
    /// Reads the bytes of a file that a record names, which the server sends if they aren't here.
    case download(Int, Int, [Fault])
    case follow(Int, [String])
    case compact
    case epoch
    /// Makes the server reject records that have a note, or accept them again.
    case refuse(Bool)
    case policyFails(Int, Bool)
    case restart(Int)
    /// Ends the process in the middle of a sync, at a step of its storage.
    case kill(Int, at: Int, [Fault])
    /// Like `kill(_:at:_:)`, but the results of the sync until then are never reported.
    case killUntold(Int, at: Int, [Fault])
  }

  enum SyncScopeName: String, Codable, Sendable { case both, push, pull }
  enum QueryWay: String, Codable, Sendable { case remote, syncThenLocal, limited }
  enum Decision: String, Codable, Sendable, CaseIterable { case retry, revert, keepLocal, removeLocal }
  enum Adoption: String, Codable, Sendable, CaseIterable { case adoptServer, uploadMine, keepApart }
}

extension WideHistory.Step {
  /// The number of the device that the step concerns, or `nil` for a step of the server.
  var device: Int? {
    switch self {
    case .write(let device, _), .atomic(let device, _), .draft(let device, _), .release(let device),
      .online(let device, _, _, _), .sync(let device, _, _, _), .query(let device, _, _),
      .refresh(let device, _), .live(let device, _), .purge(let device, _, _), .decide(let device, _, _),
      .restore(let device, _), .beside(let device, _, _, _), .export(let device, _),
      .adopt(let device, _, _), .evict(let device, _), .download(let device, _, _),
      .follow(let device, _), .policyFails(let device, _), .restart(let device), .kill(let device, _, _),
      .killUntold(let device, _, _):
      device
    case .compact, .epoch, .refuse: nil
    }
  }
}

extension WideHistory {
  /// The history in one line, for `BOTHY_HISTORY`.
  var line: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(self) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  init(line: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(line.utf8)) }
}

extension WideHistory.SyncScopeName {
  var scope: SyncDirection {
    switch self {
    case .both: .both
    case .push: .push
    case .pull: .pull
    }
  }
}

extension WideHistory.Fault {
  var fault: FaultyRemoteFault {
    switch self {
    case .none: .none
    case .lostRequest: .lostRequest
    case .lostAnswer: .lostAnswer
    case .duplicated: .duplicated
    case .late: .late
    case .busy: .status(429, retryAfter: 1)
    case .broken: .status(503, retryAfter: nil)
    }
  }
}
